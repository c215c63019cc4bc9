"""A step is measured in three ways that must not differ in their numbers."""

from typing import Any

import pytest

from secure_sapefl.engine.result import Result
from secure_sapefl.errors import SapeflError
from secure_sapefl.experiments import bench_shared
from secure_sapefl.experiments.bench_shared import WAYS, StepRow, shared_steps, to_json
from secure_sapefl.experiments.bench_simulate import Setting

TINY = Setting(name="tiny", features=2, classes=2, model="small", clients=4, rows=8)


@pytest.fixture(scope="module")
def rows() -> list[StepRow]:
    return list(shared_steps(lambda _: None, clients=5, steps=2, setting=TINY))


def test_each_way_costs_time_and_bytes(rows: list[StepRow]) -> None:
    assert [row.way for row in rows] == list(WAYS)
    assert min(row.seconds for row in rows) > 0
    plain, shared, joint = (row.up for row in rows)
    assert plain < shared < joint


def test_the_document_has_all_of_them(rows: list[StepRow]) -> None:
    document = to_json(rows, 7)
    assert document["parameters"] == 7
    assert [one["up"] for one in document["ways"]] == [row.up for row in rows]


def test_other_numbers_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = iter(range(9))

    def another_study(config: Any, **changes: Any) -> Result:
        return bench_shared_simulate(
            config.model_copy(update={"protection": "plaintext", "seed": next(seeds)}), **changes
        )

    bench_shared_simulate = bench_shared.simulate
    monkeypatch.setattr(bench_shared, "simulate", another_study)
    with pytest.raises(SapeflError, match="ended with other models"):
        list(shared_steps(lambda _: None, clients=5, steps=2, setting=TINY))
