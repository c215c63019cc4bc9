"""A table that is whole after every round, stopped or not."""

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl import Config, CsvLog, resume, simulate
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.errors import BadInput, OutputFailed

Make = Callable[..., Config]


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_site_of_every_round_is_a_line(tiny: Make, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "run.csv"
    result = simulate(tiny(rounds=2), observers=[CsvLog(str(path))])
    rows, names = lines(path), result.facts["client_names"]
    assert [(row["round"], row["site"]) for row in rows] == [(r, site) for r in "12" for site in names]
    for c, row in enumerate(rows[-len(names) :]):
        assert float(row["accuracy"]) == result.accuracy.per_client[c]
        assert math.isclose(float(row["brier"]), result.rounds[-1].personal.metrics["brier"].per_client[c])
        assert row["weight"] == str(dict(result.rounds[-1].weights).get(names[c], ""))
    assert "" in {row["weight"] for row in rows}  # somebody was not in the round


def test_rounds_that_are_not_evaluated_have_no_lines(tiny: Make, tmp_path: Path) -> None:
    simulate(tiny(rounds=3, evaluate_every=2), observers=[CsvLog(tmp_path / "run.csv")])
    assert [row["round"] for row in lines(tmp_path / "run.csv")] == ["2"] * 4 + ["3"] * 4


def test_a_resumed_run_ends_with_the_table_of_the_whole(tiny: Make, tmp_path: Path) -> None:
    def stop(event: RunEvent) -> None:
        if isinstance(event, RoundClosed):
            raise KeyboardInterrupt

    config, log = tiny(rounds=2), tmp_path / "run.csv"
    simulate(config, observers=[CsvLog(tmp_path / "whole.csv")])
    with pytest.raises(KeyboardInterrupt):
        simulate(config, tmp_path / "run", observers=[CsvLog(log), stop])
    with log.open("a") as file:
        file.write("2,client-000,0.")  # what a kill in the middle of a line leaves
    resume(str(tmp_path / "run"), observers=[CsvLog(log)])
    assert log.read_text() == (tmp_path / "whole.csv").read_text()


def test_nothing_is_replaced_and_a_path_that_cannot_be_is_named(tiny: Make, tmp_path: Path) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("mine")
    with pytest.raises(BadInput, match=r"kept\.csv is there already"):
        simulate(tiny(rounds=1), observers=[CsvLog(kept)])
    assert kept.read_text() == "mine"
    with pytest.raises(OutputFailed, match="Choose another path"):
        simulate(tiny(rounds=1), observers=[CsvLog(kept / "below.csv")])
