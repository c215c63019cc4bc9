"""Eq. 8: who passes the filter, and what their mean is."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.sape.anchors import peer_anchors

quick = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, sites: int, peers: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    similarity = torch.rand((sites, peers), generator=random)
    received = torch.rand((sites, peers), generator=random) > 0.3
    return similarity, received, torch.randn((peers, 4), generator=random)


def test_two_peers_by_hand() -> None:
    """(0.6 (1, 0) + 0.9 (0, 2)) / 1.5 = (0.4, 1.2); the third, at 0.5, does not exceed 0.5."""
    peers = torch.tensor([[1.0, 0], [0, 2], [100, 100]])
    result = peer_anchors(torch.tensor([[0.6, 0.9, 0.5]]), torch.ones(1, 3, dtype=torch.bool), peers, 0.5)
    torch.testing.assert_close(result.theta, torch.tensor([[0.4, 1.2]]))
    assert result.passed.tolist() == [2]


def test_nobody_passes() -> None:
    """No peer left: no anchor, no division by zero."""
    result = peer_anchors(torch.full((2, 3), 0.4), torch.ones(2, 3, dtype=torch.bool), torch.randn(3, 4), 0.5)
    assert not result.present.any()
    assert result.passed.tolist() == [0, 0]
    assert torch.isfinite(result.theta).all()


def test_similarity_0_does_not_pass_a_threshold_of_0() -> None:
    result = peer_anchors(torch.zeros(1, 2), torch.ones(1, 2, dtype=torch.bool), torch.ones(2, 3), 0.0)
    assert not result.present.any()


def test_a_model_not_received_has_no_say() -> None:
    received = torch.tensor([[True, False]])
    result = peer_anchors(torch.ones(1, 2), received, torch.tensor([[1.0, 2], [50, 50]]), 0.5)
    torch.testing.assert_close(result.theta, torch.tensor([[1.0, 2]]))


@given(seeds, st.integers(1, 4), st.integers(1, 6), st.floats(0, 1))
@quick
def test_an_anchor_lies_between_its_peers(seed: int, sites: int, peers: int, threshold: float) -> None:
    similarity, received, models = drawn(seed, sites, peers)
    result = peer_anchors(similarity, received, models, threshold)
    assert result.present.tolist() == (result.passed > 0).tolist()
    for theta, present in zip(result.theta, result.present, strict=True):
        if present:
            assert (theta >= models.amin(0) - 1e-5).all()
            assert (theta <= models.amax(0) + 1e-5).all()


@given(seeds, st.permutations(range(5)))
@quick
def test_the_order_of_peers_changes_nothing(seed: int, order: list[int]) -> None:
    similarity, received, models = drawn(seed, 3, 5)
    straight = peer_anchors(similarity, received, models, 0.4)
    shuffled = peer_anchors(similarity[:, order], received[:, order], models[order], 0.4)
    torch.testing.assert_close(shuffled.theta, straight.theta)
    assert shuffled.passed.tolist() == straight.passed.tolist()


@given(seeds)
@quick
def test_equally_similar_peers_have_their_plain_mean(seed: int) -> None:
    _, _, models = drawn(seed, 1, 5)
    result = peer_anchors(torch.full((1, 5), 0.7), torch.ones(1, 5, dtype=torch.bool), models, 0.5)
    torch.testing.assert_close(result.theta[0], models.mean(0))


def test_a_few_peers_of_many_say_the_same_together_as_without_the_others() -> None:
    similarity, _, _ = drawn(3, 2, 200)
    received = torch.zeros((2, 200), dtype=torch.bool)
    received[0, [3, 150]] = received[1, [9, 10, 11]] = True
    peers = torch.randn((200, 4), generator=torch.Generator().manual_seed(4))
    result = peer_anchors(similarity, received, peers, 0.0)
    for site in (0, 1):
        own = received[site]
        alone = peer_anchors(similarity[site : site + 1, own], torch.ones(1, int(own.sum())) > 0, peers[own], 0.0)
        torch.testing.assert_close(result.theta[site : site + 1], alone.theta)
    assert result.passed.tolist() == [2, 3]
