"""`bench simulate` prints what was measured, all parts or the one that was asked for."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.experiments import bench_modules, bench_simulate
from secure_sapefl.experiments.bench import floor as bench_floor
from secure_sapefl.experiments.bench.floor import FloorRow
from secure_sapefl.experiments.bench_modules import ModuleRow
from secure_sapefl.experiments.bench_simulate import EngineRow, EvaluationRow, PhaseRow, ScalingRow

ENGINE = EngineRow(
    setting="small", clients=10, parameters=1234, steps=100, sequential_seconds=6.0, batched_seconds=1.5,
    operations={"plain": 41.0, "anchored": 75.0},
)  # fmt: skip
PHASES = [
    PhaseRow(protection="plaintext", seconds={"total": 3.0, "local": 1.0, "personal": 2.0}),
    PhaseRow(protection="ckks", seconds={"total": 4.0, "local": 1.0, "personal": 2.0}),
]
MODULE = ModuleRow(model="own", parameters=5678, seconds=1.5, built_in_seconds=1.25)
FLOOR = FloorRow(model="CNN", gigaflops=10, seconds=2, in_products=0.64, best=20)
LOOKS = [
    EvaluationRow(method="fedavg", every_seconds=0.5, last_seconds=0.5),
    EvaluationRow(method="sapefl-plus", every_seconds=3.9, last_seconds=1.3),
]
SCALING = ScalingRow(clients=50, sampled=35, peers=10, seconds_per_round=0.7)


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    monkeypatch.setattr(bench_floor, "floors", lambda _: [asked.append("floor"), FLOOR][1:])
    monkeypatch.setattr(bench_modules, "modules", lambda _: [asked.append("modules"), MODULE][1:])
    parts = {"engines": [ENGINE], "phases": PHASES, "scaling": [SCALING], "evaluation": LOOKS}
    for part, rows in parts.items():
        monkeypatch.setattr(bench_simulate, part, lambda _, part=part, rows=rows: [asked.append(part), *rows][1:])
    return asked


def test_six_tables_with_the_ratios(cli: Callable[..., Any], measured: list[str]) -> None:
    answer = cli("bench", "simulate")
    assert (answer.code, measured) == (0, ["engines", "floor", "modules", "phases", "scaling", "evaluation"])
    for sentence in ("4.0×", "15.000", "1.20×", "5,678", "2.00×", "Encryption is 25% of the encrypted round.", "2000"):
        assert sentence in answer.out
    assert "41 plain" in answer.out
    assert all(number in answer.out for number in ("3.00×", "to fedavg", "2.6×"))
    assert all(number in answer.out for number in ("64%", "25%", "1.56×"))


def test_one_part_as_json(cli: Callable[..., Any], measured: list[str]) -> None:
    document = json.loads(cli("bench", "simulate", "--part", "engines", "--format", "json").out)
    assert measured == ["engines"]
    assert document["engines"][0]["ratio"] == 4.0
    assert document["modules"] == []
    assert (document["phases"], document["scaling"], document["ckks_share_of_round"]) == ([], [], None)
    assert document["evaluation"] == []


def test_modules_as_json(cli: Callable[..., Any]) -> None:
    document = json.loads(cli("bench", "simulate", "--part", "modules", "--format", "json").out)
    assert (document["modules"][0]["ratio"], document["engines"]) == (1.2, [])


def test_an_unknown_part_is_bad_usage(cli: Callable[..., Any], measured: list[str]) -> None:
    assert cli("bench", "simulate", "--part", "colour").code == 2
    assert measured == []
