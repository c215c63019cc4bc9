"""Mini-batches: every row once an epoch, weights that sum to one, and sites that stop early at the tail."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.training.plan import Plan, Shard, plan_batches

quick = settings(deadline=None, max_examples=60)
sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5).map(lambda found: sorted(found, reverse=True))
epochs = st.integers(1, 3)
batch_sizes = st.integers(1, 6)


def plan_of(sizes: list[int], epochs: int, batch_size: int, seed: int = 0) -> Plan:
    streams = [np.random.default_rng((seed, g)) for g in range(len(sizes))]
    return plan_batches(sizes, streams, epochs=epochs, batch_size=batch_size)


@given(sizes, epochs, batch_sizes)
@quick
def test_every_row_exactly_once_an_epoch(sizes: list[int], epochs: int, batch_size: int) -> None:
    plan = plan_of(sizes, epochs, batch_size)
    for g, size in enumerate(sizes):
        steps = -(-size // batch_size)
        for epoch in range(epochs):
            part = slice(epoch * steps, (epoch + 1) * steps)
            used = plan.rows[part, g][plan.weight[part, g] > 0]
            assert sorted(used.tolist()) == list(range(size))


@given(sizes, epochs, batch_sizes)
@quick
def test_weights_sum_to_one_in_a_step_a_site_takes_and_to_zero_after(
    sizes: list[int], epochs: int, batch_size: int
) -> None:
    plan = plan_of(sizes, epochs, batch_size)
    for t, active in enumerate(plan.active):
        torch.testing.assert_close(plan.weight[t].sum(1), (torch.arange(len(sizes)) < active).float())


@given(sizes, epochs, batch_sizes)
@quick
def test_active_sites_are_a_prefix_that_only_shrinks(sizes: list[int], epochs: int, batch_size: int) -> None:
    plan = plan_of(sizes, epochs, batch_size)
    assert plan.active[0] == len(sizes)
    assert plan.active[-1] >= 1
    assert list(plan.active) == sorted(plan.active, reverse=True)
    assert sum(plan.active) == epochs * sum(-(-size // batch_size) for size in sizes)


@given(sizes, epochs, batch_sizes, st.data())
@quick
def test_narrow_is_the_plan_of_those_sites_alone(
    sizes: list[int], epochs: int, batch_size: int, data: st.DataObject
) -> None:
    """The draws of a site depend on its own stream only, so planning it alone or in company is the same."""
    start = data.draw(st.integers(0, len(sizes) - 1))
    stop = data.draw(st.integers(start + 1, len(sizes)))
    narrow = plan_of(sizes, epochs, batch_size).narrow(slice(start, stop))
    streams = [np.random.default_rng((0, g)) for g in range(start, stop)]
    alone = plan_batches(sizes[start:stop], streams, epochs=epochs, batch_size=batch_size)
    assert narrow.active == alone.active
    assert torch.equal(narrow.rows, alone.rows)
    assert torch.equal(narrow.weight, alone.weight)


def test_epochs_differ() -> None:
    plan = plan_of([50], epochs=2, batch_size=50)
    assert plan.rows[0].tolist() != plan.rows[1].tolist()


def test_unordered_sites_are_refused() -> None:
    with pytest.raises(ValueError, match="largest first"):
        plan_of([2, 3], 1, 2)


def test_shard_narrows_to_the_rows_of_its_sites() -> None:
    shard = Shard(torch.arange(6.0).unsqueeze(1), torch.arange(6), starts=(2, 0, 5), sizes=(3, 2, 1))
    x, y = shard.site(0)
    assert (x.squeeze(1).tolist(), y.tolist()) == ([2, 3, 4], [2, 3, 4])
    narrow = shard.narrow(slice(1, 3))
    assert len(narrow) == 2
    assert narrow.site(0)[1].tolist() == [0, 1]


def test_where_a_site_declares_fewer_rows_than_it_has_each_of_them_still_gets_its_turn() -> None:
    plan = plan_batches([8], [np.random.default_rng(0)], epochs=20, batch_size=4, present=[11])
    assert plan.rows.shape == (40, 1, 4)
    assert set(plan.rows.flatten().tolist()) == set(range(11))
    assert torch.equal(plan.weight, torch.full((40, 1, 4), 0.25))


def test_where_it_declares_more_the_gaps_leave_their_share_to_the_others() -> None:
    plan = plan_batches([8], [np.random.default_rng(0)], epochs=5, batch_size=4, present=[3])
    for epoch in plan.rows.split(2):
        assert plan.rows.max() < 3
        assert epoch.shape == (2, 1, 4)
    taken = plan.weight.sum(2)
    assert set(taken.flatten().tolist()) <= {0.0, 1.0} or torch.allclose(taken[taken > 0], torch.ones(()))
    assert sum(int((weight > 0).sum()) for weight in plan.weight) == 5 * 3
