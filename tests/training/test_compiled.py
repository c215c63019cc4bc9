"""Compiled steps against those as written: the same models, few programs, and nothing lost where there is none.

The backend is one that runs what torch.compile captured, which takes a second to set up; the real one is in the slow
tests.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import fx
from torch.utils.flop_counter import FlopCounterMode

from secure_sapefl.training.compiled import CompiledSteps, NotCompiled
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer
from tests.training.test_trainer import LR, MODELS, objectives, plan, shard, theta

FOLLOWED = ("local", "proximal-shared", "cosine-flattened", "proximal-anchored", "advised")
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _anew() -> None:
    torch._dynamo.reset()  # as torch's pages name it


def trained(name: str, objective: str, steps: CompiledSteps | None = None) -> torch.Tensor:
    model, rows = MODELS[name], shard(name)
    trainer = BatchedTrainer(model) if steps is None else BatchedTrainer(model, step=steps)
    return trainer.train(theta(model, 0), rows, plan(), objectives(model, rows)[objective], LR)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # inductor's own
@pytest.mark.parametrize(
    ("name", "objective", "backend"),
    [
        *(pytest.param("mlp", objective, "eager") for objective in FOLLOWED),
        *(pytest.param("cnn", objective, "eager", marks=SLOW) for objective in FOLLOWED),
        *(pytest.param("mlp", objective, "inductor", marks=SLOW) for objective in FOLLOWED),
        pytest.param("cnn", "local", "inductor", marks=SLOW),
    ],
)
def test_compiled_steps_end_in_the_same_models(name: str, objective: str, backend: str) -> None:
    steps = CompiledSteps(backend)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiled)
        got = trained(name, objective, steps)
    assert steps.told == "plain ones compiled"
    torch.testing.assert_close(got, trained(name, objective), atol=2e-6, rtol=1e-5)


def test_fewer_sites_and_another_rate_need_no_program_of_their_own() -> None:
    programs = []

    def backend(graph: fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        programs.append(graph)
        return graph.forward

    sizes, model = (21, 17, 13, 9, 5, 1), MODELS["mlp"]
    rows = Shard(torch.randn(66, 4), torch.arange(66) % 3, (0, 21, 38, 51, 60, 65), sizes)
    steps = plan_batches(sizes, [np.random.default_rng(g) for g in range(6)], epochs=1, batch_size=4)
    start = torch.stack([model.initial(np.random.default_rng(g)) for g in range(6)])
    for lr in (0.1, 0.05, 0.025):
        BatchedTrainer(model, step=CompiledSteps(backend)).train(start, rows, steps, LocalLoss(), lr)
    assert steps.active == (6, 5, 4, 3, 2, 1)
    assert len(programs) == 3  # of the whole stack, of fewer sites, of one


def test_what_cannot_be_followed_is_named_once_and_stepped_as_written() -> None:
    steps = CompiledSteps("eager")
    with pytest.warns(NotCompiled, match="CosineAnchored on a StackedModel of 51 parameters") as said:
        got = trained("mlp", "cosine-per-sample", steps)
    assert len(said) == 1
    assert steps.told.startswith("as written: CosineAnchored on a StackedModel of 51 parameters (")
    assert torch.equal(got, trained("mlp", "cosine-per-sample"))
    trained("mlp", "local", steps)
    assert steps.told.startswith("plain ones compiled, but for CosineAnchored on a StackedModel of 51 parameters (")


def test_a_backend_that_is_not_there_costs_no_step() -> None:
    def broken(*_: object) -> Callable[..., Any]:
        raise RuntimeError("no compiler on this machine")

    steps = CompiledSteps(broken)
    with pytest.warns(NotCompiled, match="no compiler on this machine"):
        got = trained("mlp", "proximal", steps)
    assert torch.equal(got, trained("mlp", "proximal"))
    assert steps.told.startswith("as written: Proximal on")


def test_steps_that_somebody_watches_are_taken_once() -> None:
    steps = CompiledSteps("eager")
    with FlopCounterMode(display=False), pytest.warns(NotCompiled, match="torch.compile stands aside"):
        got = trained("mlp", "local", steps)
    assert torch.equal(got, trained("mlp", "local"))


def test_where_no_step_was_taken_nothing_is_claimed() -> None:
    assert CompiledSteps().told == "as written: no plain step of a stack was taken"
