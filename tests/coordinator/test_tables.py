"""A Table 1 on the coordinator's page: only what enough sites tell alike, and nothing but a table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.coordinator.tables import Tables
from secure_sapefl.transport.wire import ToServer
from tests.counting_study import CountingWorld

TABLE = {
    "groups": ["all"],
    "lines": [{"column": "age\x1b[31m", "says": "mean", "values": {"all": 3.5}}],
    "smallest_cell": 5,
}


class File:
    kind, min_cohort = "statistics", 2


def told(site: str, table: bytes | None) -> ToServer:
    return ToServer(site=site, round_index=1, nonce="", absorbed=1, table=table)


def test_two_of_a_kind_are_shown_and_survive_a_restart(tmp_path: Path) -> None:
    tables, text = Tables(tmp_path / "t.json", File()), json.dumps(TABLE).encode()  # type: ignore[arg-type]
    tables.hear(told("a", text))
    tables.hear(told("a", text))
    tables.hear(told("b", text.replace(b"3.5", b"4.5")))
    tables.hear(told("d", None))
    assert tables.agreed is None
    tables.hear(told("c", text))
    shown = Tables(tmp_path / "t.json", File()).agreed  # type: ignore[arg-type]
    assert shown is not None
    assert shown["lines"][0][2] == "3.5"
    assert "\x1b" not in shown["lines"][0][0]


@pytest.mark.parametrize("text", [b"[]", b"{}", b"nonsense", b'{"groups": [1], "lines": [2], "smallest_cell": 3}'])
def test_what_is_no_table_is_not_shown(tmp_path: Path, text: bytes) -> None:
    tables = Tables(tmp_path / "t.json", File())  # type: ignore[arg-type]
    for site in ("a", "b"):
        tables.hear(told(site, text))
    assert tables.agreed is None


@pytest.mark.parametrize("may", [True, False])
def test_it_leaves_only_where_owners_say_so(world: Callable[..., Any], may: bool) -> None:
    study = CountingWorld.made(world, kind="statistics")
    try:
        for agent in study.agents.values():
            agent.site.policy = agent.site.policy.model_copy(update={"tables_may_leave": may})
        assert study.server is not None
        study.run(until=lambda: study.server is not None and study.server.finished)
        shown = study.server.status()["table"]
        assert (shown is not None) == may
        assert not may or tuple(shown["lines"][0][:3]) == ("records", "n", "240")
    finally:
        study.close()
