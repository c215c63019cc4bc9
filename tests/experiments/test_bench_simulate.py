"""Ratios of the benchmark by hand, and its measurements on something small."""

from types import SimpleNamespace
from typing import Any

import pytest

from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.experiments import bench_simulate as bench
from secure_sapefl.experiments.bench_simulate import EngineRow, PhaseRow, ScalingRow, Setting
from secure_sapefl.models.stacked import build_model

TINY = Setting(name="tiny", features=4, classes=3, model="small", clients=4, rows=12)


def test_ratios_by_hand() -> None:
    engine = EngineRow(
        setting="s", clients=1, parameters=1, steps=1, sequential_seconds=6.0, batched_seconds=1.5, operations={}
    )
    phases = [
        PhaseRow(protection=name, seconds={"total": total, "local": 1.0, "personal": 2.5})
        for name, total in (("plaintext", 3.0), ("ckks", 4.0))
    ]
    scaling = ScalingRow(clients=50, sampled=35, peers=10, seconds_per_round=0.7)
    looks = bench.EvaluationRow(method="m", every_seconds=3.0, last_seconds=2.0)
    document = bench.to_json([engine], phases, [scaling], [looks])
    assert document["evaluation"][0]["ratio"] == 1.5
    assert document["engines"][0]["ratio"] == 4.0
    assert document["phases"][0]["personal_over_local"] == 2.5
    assert document["ckks_share_of_round"] == 0.25
    assert document["scaling"][0]["microseconds_per_pair"] == pytest.approx(2000)
    assert bench.ckks_share([]) is None


def test_sites_differ_in_size_as_said() -> None:
    sizes = TINY.sizes()
    assert sizes == sorted(sizes, reverse=True)
    assert all(6 <= size <= 18 for size in sizes)


def test_both_engines_train_the_same_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SMALL", TINY)
    monkeypatch.setattr(bench, "PAPER", TINY)
    first, second = bench.engines(lambda _: None, repeats=1)
    assert (first.clients, second.clients) == (4, 10)
    assert first.steps == sum(-(-size // 16) for size in TINY.sizes())
    assert min(first.sequential_seconds, first.batched_seconds) > 0


def test_operations_are_those_of_a_step_and_grow_with_layers_and_anchors() -> None:
    linear, deeper = (bench.operations_a_step(build_model((4,), 3, preset)) for preset in ("linear", "small"))
    assert linear["plain"] < deeper["plain"] < deeper["anchored"]
    assert all(count == int(count) for count in deeper.values())  # every step hands over as many


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Config, Federation]]:
    """Every simulation that is asked for; its last round took three seconds, one of them to evaluate."""
    asked: list[tuple[Config, Federation]] = []

    def simulate(config: Config, *, federation: Federation) -> Any:
        asked.append((config, federation))
        record = SimpleNamespace(total_seconds=3.0, seconds={"local": 0.5, "personal": 1.0, "evaluate": 1.0})
        return SimpleNamespace(rounds=[None, record])

    monkeypatch.setattr(bench, "simulate", simulate)
    return asked


def test_a_round_by_phase_is_that_of_the_same_rows_with_and_without_encryption(
    runs: list[tuple[Config, Federation]],
) -> None:
    plain, encrypted = bench.phases(lambda _: None, TINY)
    assert (plain.protection, encrypted.protection) == ("plaintext", "ckks")
    assert plain.seconds == {"total": 3.0, "local": 0.5, "personal": 1.0, "evaluate": 1.0}
    (first, rows), (second, again) = runs
    assert again is rows
    assert first.model_copy(update={"protection": "ckks"}) == second


def test_more_sites_with_as_many_peers_each_without_the_time_to_evaluate(
    runs: list[tuple[Config, Federation]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "SMALL", TINY)
    rows = list(bench.scaling(lambda _: None, peers=3))
    assert [(row.clients, row.sampled) for row in rows] == [(50, 35), (100, 70), (200, 140), (400, 280)]
    assert {row.seconds_per_round for row in rows} == {2.0}
    assert [len(federation.clients) for _, federation in runs] == [50, 100, 200, 400]
    assert {config.peers_per_client for config, _ in runs} == {3}


def test_each_method_is_run_with_every_round_evaluated_and_with_the_last(
    runs: list[tuple[Config, Federation]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = SimpleNamespace(rounds=[SimpleNamespace(total_seconds=seconds) for seconds in (1.0, 3.0)])
    watched = bench.simulate
    monkeypatch.setattr(
        bench, "simulate", lambda config, federation: [watched(config, federation=federation), rounds][1]
    )
    rows = list(bench.evaluation(lambda _: None, rounds=2))
    assert {(row.every_seconds, row.ratio) for row in rows} == {(2.0, 1.0)}
    assert [config.evaluate_every for config, _ in runs] == [1, 2] * len(rows)
    assert [config.method for config, _ in runs[::2]] == [row.method for row in rows]
