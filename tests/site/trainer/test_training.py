"""The half of a site's round that sees records, in the site's own process."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.site.trainer.training import Asked, OwnProcess


@pytest.fixture
def training(world: Callable[..., Any]) -> OwnProcess:
    deployed = world()
    return OwnProcess(deployed.terms, deployed.rows["north"])


@pytest.fixture
def asked(training: OwnProcess) -> Asked:
    theta = training.theta_initial
    own = {"theta_personal": theta[None].clone()}
    return Asked(round_index=0, theta_global=theta, own=own, peers=Peers.nobody(1, theta))


def test_the_models_visit_the_device_and_are_kept_in_main_memory(training: OwnProcess, asked: Asked) -> None:
    training.device = torch.device("meta")  # a place that is not main memory and that every machine has
    group = training.group(asked)  # what comes after it needs a card
    assert (group.theta_global.device.type, asked.theta_global.device.type) == ("meta", "cpu")
    assert group.peers.models.device.type == "meta"


def test_a_round_moves_nothing_that_it_was_given(training: OwnProcess, asked: Asked) -> None:
    before = asked.own["theta_personal"].clone()
    made = training.contribution(asked)
    assert torch.equal(asked.own["theta_personal"], before)
    assert not torch.equal(made.state["theta_personal"], before)


def test_without_a_budget_the_round_at_home_is_the_round_that_leaves(training: OwnProcess, asked: Asked) -> None:
    away, home = training.contribution(asked), training.at_home(asked)
    assert torch.equal(away.state["theta_personal"], home.state["theta_personal"])


def test_the_module_answers_as_the_model_does(training: OwnProcess, asked: Asked) -> None:
    theta, x = training.personal_model(asked), torch.linspace(-1, 1, 12).view(3, 4)
    with torch.no_grad():
        torch.testing.assert_close(training.module(theta)(x), training.outputs(theta, x))
