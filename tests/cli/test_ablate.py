"""`ablate` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
TINY = ("--clients", "2", "--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--out", "out")
PNG = b"\x89PNG"
Cli = Callable[..., Any]


@pytest.mark.parametrize("varied", ["influence", "kappa", "threshold"])
def test_ablations(cli: Cli, varied: str) -> None:
    answer = cli("ablate", varied, "--dataset", "synthetic", *TINY, *DATA, "--format", "json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["varied"] == varied
    assert Path(f"out/ablation-{varied}.png").read_bytes().startswith(PNG)
    assert "paper" in Path(f"out/ablation-{varied}.md").read_text()


COLUMNS = ("--label", "outcome", "--group", "hospital")
SHORT = ("--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--participation", "1", "--out", "out")


def test_kappa_invents_sites_and_says_so(cli: Cli, hospitals: Path) -> None:
    command = ("ablate", "kappa", "--dataset", str(hospitals), *COLUMNS, *SHORT, "--clients", "2", "--format", "json")
    assert "2 sites, dirichlet partition" in cli(*command).out
    refused = cli(*command, "--partition", "natural")
    assert refused.code == 2
    assert "Leave --partition out" in refused.err
