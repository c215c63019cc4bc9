"""`site table`: what a site shows of a Table 1, and what it says where there is none."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.study.file import signed_text
from tests.counting_study import CountingWorld
from tests.deployed_study import cohort_key, world

__all__ = ["cohort_key", "world"]


@pytest.fixture
def study(world: Callable[..., Any], tmp_path: Path) -> Iterator[CountingWorld]:
    made = CountingWorld.made(world, kind="statistics", smallest_cell=70)
    (tmp_path / "study.toml").write_text(signed_text(made.world.file, made.world.coordinator_identity))
    yield made
    made.close()


def test_a_table_in_three_forms(cli: Callable[..., Any], study: CountingWorld) -> None:
    home = str(study.homes["north"].path)
    early = cli("site", "table", "study.toml", "--home", home)
    assert early.code == 2
    assert "no table here yet" in early.err
    study.run(until=lambda: all(agent.over for agent in study.agents.values()))
    shown = cli("site", "table", "study.toml", "--home", home)
    assert shown.code == 0
    assert "–: a count below 70" in shown.out
    assert "see them" in shown.out
    table = json.loads(cli("site", "table", "study.toml", "--home", home, "--format", "json").out)
    assert table["sites_in_the_sum"] == 4
    assert cli("site", "table", "study.toml", "--home", home, "--format", "csv").out.startswith(
        "column,says,all,no,yes"
    )
    said = cli("study", "show", "study.toml")
    assert said.code == 0
    assert "a Table 1 over all sites" in said.out
    assert cli("study", "verify", "study.toml").code == 0
