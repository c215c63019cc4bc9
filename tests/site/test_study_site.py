"""One site's half of a deployed study, around a group of one: nothing is sent or written down here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.protocol.messages import Invitation
from secure_sapefl.site.keys import SharedKey
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.site.trainer.training import OwnProcess
from tests.accelerator import accelerator, counted

__all__ = ["accelerator"]


def study_site(deployed: Any, name: str) -> StudySite:
    training = OwnProcess(deployed.terms, deployed.rows[name])
    return StudySite(deployed.terms, training, keys(deployed), deployed.policy)


def test_a_site_trains_on_the_device_it_is_started_with(world: Callable[..., Any], accelerator: str) -> None:
    deployed, models = world(rounds=2), []
    for device in (torch.device("cpu"), torch.device(accelerator)):
        training = OwnProcess(deployed.terms, deployed.rows["north"], device=device)
        site = StudySite(deployed.terms, training, keys(deployed), deployed.policy)
        with counted() as traffic:
            _, own, _ = site.take_part(site.first_state(), Invitation(site="north", round_index=0, peers=(), models=()))
        assert (traffic.operations > 0) == (device.type == accelerator)
        models.append(own["theta_personal"])
    torch.testing.assert_close(*models, rtol=1e-3, atol=1e-4)


def keys(deployed: Any) -> SharedKey:
    return SharedKey(deployed.key, deployed.terms.blueprint.study)


@pytest.fixture
def site(world: Callable[..., Any]) -> StudySite:
    deployed = world(rounds=2)
    return study_site(deployed, "north")


def test_every_site_begins_at_weights_that_follow_from_the_seed(world: Callable[..., Any]) -> None:
    deployed = world()
    first, second = (study_site(deployed, name).first_state() for name in ("north", "east"))
    assert (first.absorbed, first.answered, first.untrained) == (-1, -1, True)
    torch.testing.assert_close(first.theta_global, second.theta_global, rtol=0, atol=0)


def test_without_a_file_a_site_is_at_the_beginning_and_with_one_where_it_was(site: StudySite, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    assert site.load_state(path).absorbed == -1
    replace(site.first_state(), absorbed=1).save(path)
    assert site.load_state(path).absorbed == 1


def test_taking_part_moves_the_sites_own_model_and_nothing_it_was_given(site: StudySite) -> None:
    state = site.first_state()
    before = {name: tensor.clone() for name, tensor in state.own.items()}
    upload, own, refusals = site.take_part(state, Invitation(site="north", round_index=0, peers=(), models=()))
    assert upload is not None
    assert upload.update is not None
    assert any(not torch.equal(own[name], before[name]) for name in own)
    for name, tensor in before.items():
        torch.testing.assert_close(state.own[name], tensor, rtol=0, atol=0)
    assert [refusal.site for refusal in refusals] == ["north"]  # no peers: the score stays here
    assert upload.similarity_score == 0.0


def test_a_late_site_starts_at_the_global_model_of_the_day(site: StudySite) -> None:
    state = site.first_state()
    moved = replace(state, theta_global=state.theta_global + 1)
    for tensor in site.late_start(moved).values():
        np.testing.assert_array_equal(tensor[0], moved.theta_global[: tensor[0].numel()])
