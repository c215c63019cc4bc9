"""What a trainer does when it is asked, read back by the other end."""

from collections.abc import Callable

import pytest
import torch

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.errors import BadInput
from secure_sapefl.site.trainer.messages import Message
from secure_sapefl.site.trainer.questions import contribution, request
from secure_sapefl.site.trainer.served import Served
from secure_sapefl.site.trainer.training import Asked
from tests.deployed_study import World


@pytest.fixture
def served(carrying_world: Callable[..., World]) -> Served:
    deployed = carrying_world()
    rows = deployed.rows["north"].train
    words = {"study": deployed.file.model_dump(mode="json"), "site": "north", "threads": torch.get_num_threads()}
    return Served.begun(Message(words, {"X": torch.from_numpy(rows.X), "y": torch.from_numpy(rows.y)}))


def test_a_round_comes_back_as_it_was_made(served: Served) -> None:
    theta = served.initial().tensors["theta"]
    peers = Peers(theta[None] + 0.1, torch.ones(1, 1, dtype=torch.bool))
    asked = Asked(round_index=2, theta_global=theta, own={"theta_personal": theta[None]}, peers=peers)
    made = contribution(served.answer(request("round", asked)).tensors)
    again = served.training.contribution(asked)
    assert made.update is not None
    assert again.update is not None
    assert torch.equal(made.update, again.update)
    assert torch.equal(made.state["theta_personal"], again.state["theta_personal"])


def test_a_question_nobody_asks_is_refused(served: Served) -> None:
    with pytest.raises(BadInput, match="is not asked for 'keys'"):
        served.answer(Message({"do": "keys"}))
