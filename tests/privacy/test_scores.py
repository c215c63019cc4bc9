from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.scores import noisy_means, score_deviation
from secure_sapefl.sape.similarity import output_similarity

ALL = torch.ones((1, 400), dtype=torch.bool)


@pytest.fixture
def pay(event: Callable[..., Event]) -> Callable[..., list[Paid]]:
    def make(*noises: float) -> list[Paid]:
        events = [
            event(mechanism="gaussian", release="similarity_score", noise_multiplier=noise, sample_rate=1.0, steps=1)
            for noise in noises
        ]
        return [Ledger("north", Budget(1e6, 1e-5)).charge([one])[0] for one in events]

    return make


def keyed(*seeds: int) -> list[KeyedRandomness]:
    return [KeyedRandomness(np.random.default_rng(seed)) for seed in seeds]


def test_noise_grows_with_peers_and_shrinks_with_rows(pay: Callable[..., list[Paid]]) -> None:
    """s sqrt(k) / n: 5 * sqrt(400) / 1000 = 0.1, measured on 400 entries."""
    noisy = noisy_means(pay(5.0), keyed(1), torch.full((1, 400), 0.5), ALL, [1000])
    assert score_deviation(5.0, 400, 1000) == pytest.approx(0.1)
    assert float(noisy.std()) == pytest.approx(0.1, rel=0.15)
    assert float(noisy.mean()) == pytest.approx(0.5, abs=0.02)


def test_noisy_values_stay_similarities_and_unasked_ones_are_zero(pay: Callable[..., list[Paid]]) -> None:
    asked = torch.tensor([[True, False, True], [False, False, False]])
    noisy = noisy_means(pay(500.0, 1.0), keyed(1, 2), torch.full((2, 3), 0.9), asked, [10, 20])
    assert not noisy[~asked].any()
    assert ((noisy >= 0) & (noisy <= 1)).all()


def test_a_vector_is_paid_for_once_and_released_once(pay: Callable[..., list[Paid]]) -> None:
    paid = pay(5.0)
    noisy_means(paid, keyed(1), torch.full((1, 400), 0.5), ALL, [1000])
    with pytest.raises(RuntimeError, match="one event, one release"):
        noisy_means(paid, keyed(1), torch.full((1, 400), 0.5), ALL, [1000])


def sums(own: Tensor, peers: Tensor) -> Tensor:
    return output_similarity(own, peers, torch.ones(own.shape[:2]), "per_sample").squeeze(-1) * own.shape[1]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 1000))
def test_one_record_moves_the_vector_by_at_most_its_sensitivity(peers: int, rows: int, seed: int) -> None:
    """With n_c declared, that is a constant: sqrt(k) / n_c."""
    random = torch.Generator().manual_seed(seed)
    own, others = torch.randn((1, rows, 3), generator=random), torch.randn((peers, 1, rows, 3), generator=random)
    removed = sums(own[:, 1:], others[:, :, 1:])
    moved = (sums(own, others) - removed) / rows
    assert float(moved.norm()) <= sqrt(peers) / rows + 1e-6
