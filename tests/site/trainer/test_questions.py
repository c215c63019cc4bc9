"""A round as messages, there and back."""

import torch

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.site.trainer.questions import answered, asked_of, contribution, request
from secure_sapefl.site.trainer.training import Asked


def test_what_is_asked_arrives() -> None:
    peers = Peers(torch.ones(2, 3), torch.tensor([[True, False]]))
    asked = Asked(round_index=4, theta_global=torch.arange(3.0), own={"a b": torch.zeros(1, 3)}, peers=peers)
    message = request("round", asked)
    found = asked_of(message)
    assert (message.words["do"], found.round_index, list(found.own)) == ("round", 4, ["a b"])
    assert torch.equal(found.theta_global, asked.theta_global)
    assert torch.equal(found.peers.received, peers.received)


def test_what_is_answered_arrives_and_what_is_left_out_stays_out() -> None:
    made = Contribution(state={"x": torch.ones(1, 2)}, shared=torch.zeros(1, 2), statistics={"y": torch.ones(1)})
    found = contribution(answered(made).tensors)
    assert torch.equal(found.state["x"], made.state["x"])
    assert found.shared is not None
    assert (found.update, found.score, dict(found.statistics)) == (None, None, {})
