"""Similarity around the mean, by hand and against the plain definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.sape.centred import above_own_mean, centred_outputs, centred_weights
from secure_sapefl.sape.similarity import clipped_cosine


def test_three_models_on_a_line_by_hand() -> None:
    """Models 0, 3 and 6 have mean 3: the first and the last point away from each other, the middle one nowhere."""
    own, peers = torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 0.0], [6.0, 0.0]])
    assert centred_weights(own, peers, torch.ones(1, 2), torch.zeros(2)).tolist() == [[0.0, 0.0]]
    alike = torch.tensor([[0.0, 0.0], [6.0, 0.0]])
    assert centred_weights(own, alike, torch.ones(1, 2), torch.zeros(2)).tolist() == [[1.0, 0.0]]


@given(st.integers(0, 2**31 - 1))
def test_products_of_matrices_are_the_cosines_they_stand_for(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    own, peers = torch.randn((2, 6), generator=random), torch.randn((3, 6), generator=random)
    received = torch.tensor([[True, True, False], [False, True, True]])
    origin = torch.randn(6, generator=random)
    found = centred_weights(own, peers, received.float(), origin)
    for c in range(2):
        mean = torch.cat([own[c : c + 1], peers[received[c]]]).mean(0)
        expected = clipped_cosine(own[c] - mean, peers - mean)
        torch.testing.assert_close(found[c], expected, rtol=1e-3, atol=1e-4)


def test_identical_models_are_set_apart_by_nothing() -> None:
    same = torch.ones(1, 4)
    assert centred_weights(same, same.repeat(3, 1), torch.ones(1, 3), torch.zeros(4)).tolist() == [[0.0, 0.0, 0.0]]


def test_peers_that_answer_like_the_site_are_found_among_others() -> None:
    own = torch.tensor([[[5.0, 0.0], [0.0, 5.0]]])
    peers = torch.stack([own, -own])
    found = centred_outputs(own.softmax(-1), peers.softmax(-1), torch.tensor([[True, True]]), torch.ones(1, 2))
    assert found[0, 0] == pytest.approx(1, abs=1e-5)
    assert found[0, 1] == 0


def test_only_peers_above_the_average_are_kept_and_sharpened() -> None:
    similarity = torch.tensor([[0.8, 0.4, 0.0, 0.9]])
    received = torch.tensor([[True, True, True, False]])
    torch.testing.assert_close(above_own_mean(similarity, received, 2.0), torch.tensor([[0.64, 0.0, 0.0, 0.0]]))
