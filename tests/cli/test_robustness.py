"""`robustness` from the outside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]
COLUMNS = ("--label", "outcome", "--group", "hospital")


def test_robustness_reads_a_csv(cli: Cli, hospitals: Path) -> None:
    answer = cli("robustness", "--dataset", str(hospitals), *COLUMNS, "--methods", "fedavg", "--rounds", "1",
                 "--seeds", "1", "--format", "json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "1 of 3 sites hostile" in answer.err
