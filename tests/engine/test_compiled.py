"""Runs whose steps are compiled: every method learns what it learns without, and the summary says what was compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine import device
from secure_sapefl.training.compiled import CompiledSteps

Tiny = Callable[..., Config]
SAYS = {
    "perfedavg": "as written: no plain step of a stack was taken",  # gradients of its own in place of steps
    "fedas": "plain ones compiled, but for TowardsPrototypes on a StackedModel of",
}
FAST = {"fedavg", "sapefl", "perfedavg"}


@pytest.fixture(autouse=True)
def _captured_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch.compile captures is run as it is: to write a program of it takes half a minute."""
    torch._dynamo.reset()  # as torch's pages name it
    monkeypatch.setattr(device, "CompiledSteps", partial(CompiledSteps, "eager"))


@pytest.mark.filterwarnings("ignore::secure_sapefl.training.compiled.NotCompiled")
@pytest.mark.parametrize(
    "method", [pytest.param(one, marks=() if one in FAST else pytest.mark.slow) for one in ALGORITHMS]
)
def test_every_method_learns_the_same(tiny: Tiny, method: str) -> None:
    written, compiled = (simulate(tiny(method=method, engine=engine)) for engine in ("batched", "compiled"))
    assert "steps" not in written.facts
    said = compiled.facts["steps"]
    assert said.startswith(SAYS[method]) if method in SAYS else said == "plain ones compiled"
    assert written.models is not None
    assert compiled.models is not None
    for site, theta in written.models.thetas.items():
        torch.testing.assert_close(compiled.models.thetas[site], theta, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("changes", [{"optimizer": "adam"}, {"dp_epsilon": 8.0, "dp_delta": 1e-3}], ids=str)
def test_other_steps_are_taken_as_written_and_said_to_be(tiny: Tiny, changes: dict[str, Any]) -> None:
    result = simulate(tiny(method="fedavg", engine="compiled", **changes))
    assert result.facts["steps"] == "as written: no plain step of a stack was taken"
