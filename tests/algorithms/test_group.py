"""What a group of sites can be asked for: its batches, its rows, its models' answers."""

from typing import Any

import pytest
import torch

from secure_sapefl.algorithms import group as site_group
from secure_sapefl.streams import Purpose


@pytest.mark.parametrize("rows_at_once", [1, 4, 5, 128])
def test_outputs_are_each_sites_model_on_its_own_rows(
    four_sites: Any, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_group, "_ROWS_AT_ONCE", rows_at_once)
    group, theta = four_sites.group({}), four_sites.models[:4]
    answers = group.outputs(theta)
    assert answers.shape == (4, 9, 3)
    for g, size in enumerate(four_sites.sizes):
        x, _ = group.shard.site(g)
        torch.testing.assert_close(answers[g, :size], four_sites.model.outputs(theta[g : g + 1], x[None])[0])


def test_present_counts_the_rows_of_each_site(four_sites: Any) -> None:
    assert four_sites.group({}).present.sum(1).tolist() == [9, 5, 5, 1]


@pytest.mark.parametrize("at_most", [1, 3, 5, 100])
def test_sampled_rows_are_the_sites_own_and_all_different(four_sites: Any, at_most: int) -> None:
    group = four_sites.group({})
    x, present = group.sample_rows(at_most, Purpose.SIMILARITY_ROWS)
    assert present.sum(1).tolist() == [min(size, at_most) for size in four_sites.sizes]
    for g in range(4):
        own = {tuple(row) for row in group.shard.site(g)[0].tolist()}
        drawn = {tuple(row) for row in x[g][present[g] > 0].tolist()}
        assert drawn <= own
        assert len(drawn) == present[g].sum()


def test_sampled_rows_follow_their_stream(four_sites: Any) -> None:
    """The same key, the same rows, also in other company; another purpose, other rows."""
    x, _ = four_sites.group({}).sample_rows(3, Purpose.SIMILARITY_ROWS)
    alone, _ = four_sites.group({}, (1,)).sample_rows(3, Purpose.SIMILARITY_ROWS)
    other, _ = four_sites.group({}).sample_rows(3, Purpose.PERSONAL_BATCHES)
    assert torch.equal(x[1], alone[0])
    assert not torch.equal(x, other)


def test_an_update_takes_the_place_of_the_models_it_is_made_of(four_sites: Any) -> None:
    group = four_sites.group({})
    theta = group.everywhere(group.theta_global) + 1
    update = group.update_of_(theta)
    assert update is theta
    torch.testing.assert_close(update, torch.ones_like(update))
