"""Optimizers in a study: alike in both engines, begun anew each round unless told otherwise, and resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from secure_sapefl import Config, resume, simulate
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.optimizers import OptimizerMemory, schedule_of, step_rule
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.optimizer import PLAIN, Moments

Tiny = Callable[..., Config]
ADAM: dict[str, Any] = {"optimizer": "adamw", "lr": 0.01, "weight_decay": 0.01, "max_grad_norm": 1.0}
MOMENTUM: dict[str, Any] = {"momentum": 0.9, "schedule": "cosine", "warmup_rounds": 1}
BUDGET: dict[str, Any] = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8}


def models(config: Config) -> dict[str, torch.Tensor]:
    simulation = Simulation(assemble(config))
    simulation.run()
    return simulation.tensors()


def test_the_default_is_plain(tiny: Tiny) -> None:
    assert step_rule(tiny()) == PLAIN
    assert schedule_of(tiny()).rate(3) == tiny().lr


@pytest.mark.parametrize("settings", [ADAM, MOMENTUM, {**ADAM, "keep_optimizer": True}], ids=["adam", "sgd", "kept"])
@pytest.mark.parametrize("method", ["sapefl", "sapefl-plus"])
def test_both_engines_take_the_same_steps(tiny: Tiny, method: str, settings: dict[str, Any]) -> None:
    found = [models(tiny(method=method, rounds=2, engine=e, **settings)) for e in ("batched", "sequential")]
    for name, values in found[0].items():
        torch.testing.assert_close(values, found[1][name], atol=2e-4, rtol=1e-2, equal_nan=True)


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_a_private_step_is_the_optimizers_step_on_what_was_noised(tiny: Tiny) -> None:
    """SGD with a momentum that is as good as none steps like plain SGD, noise and all."""
    plain, rule = (models(tiny(method="fedavg", rounds=1, **BUDGET, **extra)) for extra in ({}, {"momentum": 1e-12}))
    torch.testing.assert_close(plain["theta_global"], rule["theta_global"], atol=1e-5, rtol=1e-4)
    adam = models(tiny(method="fedavg", rounds=1, **BUDGET, **ADAM))
    assert not torch.allclose(plain["theta_global"], adam["theta_global"], atol=1e-3)


def test_what_is_kept_changes_the_next_round_and_what_is_not_does_not(tiny: Tiny) -> None:
    settings = {"method": "local", "participation": 1.0, **MOMENTUM}
    anew, kept = (models(tiny(keep_optimizer=keep, rounds=2, **settings)) for keep in (False, True))
    assert not torch.allclose(anew["theta_personal"], kept["theta_personal"], atol=1e-3)
    once = [models(tiny(keep_optimizer=keep, rounds=1, **settings))["theta_personal"] for keep in (False, True)]
    assert torch.equal(*once)
    assert {name for name in kept if name.startswith("optimizer")} == {
        f"optimizer LOCAL_BATCHES {part}" for part in ("first", "second", "steps")
    }


def test_a_resumed_run_remembers(tiny: Tiny, tmp_path: Path, stop_after: Callable[..., None]) -> None:
    config = tiny(method="ditto", keep_optimizer=True, **ADAM)
    whole = simulate(config)
    stop_after(config, tmp_path / "run", 2)
    assert resume(tmp_path / "run").accuracy == whole.accuracy


@pytest.mark.parametrize("method", ["perfedavg", "fedafk"])
def test_a_method_that_steps_itself_refuses_an_optimizer(tiny: Tiny, method: str) -> None:
    with pytest.raises(BadInput, match="plain steps of its own"):
        simulate(tiny(method=method, optimizer="adam"))


def test_the_memory_of_sites_is_theirs_alone() -> None:
    memory = OptimizerMemory(3)
    moments = Moments(torch.ones(2, 4), torch.ones(2, 4), torch.tensor([1.0, 2.0]))
    memory.keep(torch.tensor([2]), torch.tensor([False, True]), {Purpose.LOCAL_BATCHES: moments})
    recalled = memory.recalled([2, 0], torch.device("cpu"))[Purpose.LOCAL_BATCHES]
    assert recalled.steps.tolist() == [2, 0]
    recalled.first.zero_()
    assert memory.tensors()["optimizer LOCAL_BATCHES first"].sum() == 4
    again = OptimizerMemory(3)
    saved = {**memory.tensors(), "theta_personal": torch.zeros(3)}
    again.restore(saved)
    assert list(saved) == ["theta_personal"]
    assert torch.equal(again.tensors()["optimizer LOCAL_BATCHES steps"], torch.tensor([0.0, 0, 2]))
