"""What a method says of itself: how large its scores and updates can be, and what a mean update does."""

import pytest
import torch

from secure_sapefl.algorithms.base import NoOptions, StudyFacts, add_mean, body_only, whole_model
from secure_sapefl.models.stacked import build_model


@pytest.mark.parametrize(("cohort", "peers_per_client", "most"), [(5, None, 4), (5, 2, 2), (2, 9, 1), (1, None, 0)])
def test_most_peers(cohort: int, peers_per_client: int | None, most: int) -> None:
    assert StudyFacts(cohort=cohort, largest_site=1, peers_per_client=peers_per_client).most_peers == most


def test_an_update_is_of_the_whole_model_or_of_its_body() -> None:
    model = build_model((20,), 10, "small")
    assert whole_model(model, NoOptions()) - body_only(model, NoOptions()) == 64 * 10 + 10


def test_a_mean_moves_the_weights_it_is_of() -> None:
    moved = add_mean(torch.ones(4), torch.tensor([1.0, -1.0]), NoOptions())
    assert moved.tolist() == [2, 0, 1, 1]
