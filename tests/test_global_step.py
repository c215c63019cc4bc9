"""Eq. 12 in the clear."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.global_step import aggregate

quick = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, clients: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    theta = torch.randn(4, generator=random)
    return theta, torch.randn((clients, 4), generator=random), torch.rand(clients, generator=random) + 0.1


def test_by_hand() -> None:
    """(1, 1) + [1 (4, 0) + 3 (0, 4)] / 4 = (2, 4)."""
    updates = torch.tensor([[4.0, 0], [0, 4]])
    torch.testing.assert_close(aggregate(torch.ones(2), updates, torch.tensor([1.0, 3])), torch.tensor([2.0, 4]))


def test_no_scores_no_change() -> None:
    theta = torch.tensor([1.0, -2])
    assert torch.equal(aggregate(theta, torch.randn(3, 2), torch.zeros(3)), theta)


@given(seeds, st.integers(1, 8), st.floats(0.01, 100))
@quick
def test_equal_scores_are_the_plain_mean(seed: int, clients: int, score: float) -> None:
    theta, updates, _ = drawn(seed, clients)
    torch.testing.assert_close(aggregate(theta, updates, torch.full((clients,), score)), theta + updates.mean(0))


@given(seeds, st.permutations(range(5)))
@quick
def test_the_order_of_clients_changes_nothing(seed: int, order: list[int]) -> None:
    theta, updates, scores = drawn(seed, 5)
    torch.testing.assert_close(aggregate(theta, updates[order], scores[order]), aggregate(theta, updates, scores))


@given(seeds, st.floats(0.1, 10))
@quick
def test_only_the_ratio_of_scores_counts(seed: int, factor: float) -> None:
    theta, updates, scores = drawn(seed, 4)
    torch.testing.assert_close(aggregate(theta, updates, factor * scores), aggregate(theta, updates, scores))


@given(seeds)
@quick
def test_a_score_of_0_silences_its_client(seed: int) -> None:
    theta, updates, scores = drawn(seed, 3)
    scores[1] = 0
    kept = [0, 2]
    torch.testing.assert_close(aggregate(theta, updates, scores), aggregate(theta, updates[kept], scores[kept]))
