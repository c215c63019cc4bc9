"""`site start --device`: a deployed study whose sites train on an accelerator ends as it does in main memory."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
import torch

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.site.own_model import personal_model
from secure_sapefl.site.trainer.training import OwnProcess
from tests.accelerator import DEVICE, accelerator, counted
from tests.deployed_study import NAMES, PRIVATE, World

__all__ = ["accelerator"]

BUDGETS: Final = {"exact": None, "budget": PRIVATE}
FAST: Final = {("sapefl", "exact"), ("fedavg", "budget")}
CASES: Final = [
    pytest.param(method, privacy, id=f"{method}-{words}", marks=() if (method, words) in FAST else pytest.mark.slow)
    for method in ALGORITHMS
    if method != "local"  # sends nothing, so that no study is made of it
    for words, privacy in BUDGETS.items()
]


def ended(deployed: World) -> dict[str, torch.Tensor]:
    """The model each site uses, once the study is over."""
    deployed.start_all()
    deployed.run()
    return {name: personal_model(agent.site.training, agent.state) for name, agent in deployed.agents.items()}


@pytest.mark.usefixtures("accelerator")
@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize(("method", "privacy"), CASES)
def test_a_deployed_site_learns_there_what_it_learns_here(
    world: Callable[..., World], method: str, privacy: Any
) -> None:
    here, there = (world(method=method, privacy=privacy, rounds=2) for _ in range(2))
    there.training = partial(OwnProcess, device=DEVICE)
    expected = ended(here)
    with counted() as traffic:
        found = ended(there)
    assert traffic.operations > 0
    for name in NAMES:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-3, atol=1e-4)
