"""Training that stops by rows held back, and the round that is used then."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from secure_sapefl import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import resume, simulate
from secure_sapefl.engine.stopping import Stopping
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import CLASS_METRICS, ERRORS


def records(*values: float | None) -> list[Any]:
    return [SimpleNamespace(validation=value) for value in values]


def test_the_best_round_is_the_first_of_equals_by_the_metrics_own_direction() -> None:
    accuracy, error = (Stopping(metrics[0], 2) for metrics in (CLASS_METRICS, ERRORS))
    assert accuracy.used(records(0.1, 0.5, 0.5, 0.2)) == 1
    assert error.used(records(0.1, 0.5, 0.5, 0.2)) == 0
    assert accuracy.used(records(None, 0.3)) == 1
    assert accuracy.used([]) is None
    assert Stopping(CLASS_METRICS[0], None).used(records(0.1)) is None


def test_it_is_over_when_patience_is() -> None:
    stopping = Stopping(CLASS_METRICS[0], 2)
    assert not stopping.over(records(0.5, 0.4))
    assert stopping.over(records(0.5, 0.4, 0.5))
    assert not stopping.over(records(0.5, 0.4, None)), "a round that was not evaluated says nothing"
    assert stopping.is_best(records(0.5, 0.6))
    assert not Stopping(CLASS_METRICS[0], None).over(records(0.5, 0.4, 0.3, 0.2))


def test_a_run_stops_and_uses_its_best_round(tiny: Callable[..., Config], tmp_path: Path) -> None:
    config = tiny(method="fedavg", rounds=12, early_stopping=1, lr=0.5, late_clients=1)
    result = simulate(config, tmp_path / "run")
    used = result.summary()["early_stopping"]["used_round"]
    assert len(result.rounds) < 12
    assert used == len(result.rounds) - 2
    assert result.summary()["rounds"] == len(result.rounds)
    assert result.main == result.rounds[used].personal.main
    shorter = simulate(tiny(method="fedavg", rounds=used + 1, early_stopping=9, lr=0.5, late_clients=1))
    name = result.facts["client_names"][0]
    ours, theirs = (one.model(name).state_dict() for one in (result, shorter))
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    late = [one.summary()["late_clients"]["global_model"] for one in (result, shorter)]
    assert late[0] == late[1]
    assert resume(tmp_path / "run").main == result.main


def test_a_stopped_run_goes_on_to_the_same_end(
    tiny: Callable[..., Config], tmp_path: Path, stop_after: Callable[..., None], numbers: Callable[..., Any]
) -> None:
    config = tiny(rounds=12, early_stopping=1, lr=0.5)
    whole = simulate(config)
    stop_after(config, tmp_path / "run", len(whole.rounds) - 1)
    assert numbers(resume(tmp_path / "run").summary()) == numbers(whole.summary())


def test_validation_rows_are_training_rows_and_nobody_trains_on_them(tiny: Callable[..., Config]) -> None:
    plain, held = assemble(tiny()).federation, assemble(tiny(early_stopping=1)).federation
    for before, after in zip(plain.clients, held.clients, strict=True):
        assert after.validation is not None
        rows = {row.tobytes() for row in before.train.X}
        kept, chosen = ({row.tobytes() for row in part.X} for part in (after.train, after.validation))
        assert kept | chosen == rows
        assert not kept & chosen
        assert (after.test.X == before.test.X).all()


def test_a_budget_does_not_cover_it(tiny: Callable[..., Config]) -> None:
    with pytest.raises(BadInput, match="looking at records"):
        assemble(tiny(early_stopping=1, dp_epsilon=4.0, dp_delta=1e-3))
