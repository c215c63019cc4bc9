"""A method gets at records only through what its sites have paid for, once."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.streams import Purpose

EXACT, ASKED, ROWS = torch.tensor([[0.5], [0.25]]), torch.ones((2, 1), dtype=torch.bool), (1000, 10)


@pytest.fixture
def group(event: Callable[..., Event]) -> PrivateGroup:
    """Two sites that have paid for similarities and for nothing else."""
    asked = event(mechanism="gaussian", release="similarity_score", noise_multiplier=0.5, sample_rate=1.0, steps=1)
    paid = tuple({Purpose.SIMILARITY_ROWS: Ledger(site, Budget(1e9, 0.1)).charge([asked])[0]} for site in ("a", "b"))
    return PrivateGroup(ROWS, paid, lambda _: [KeyedRandomness(np.random.default_rng(g)) for g in range(2)], clip=1.0)


def test_means_are_noised_by_what_was_paid_each_site_by_the_rows_it_declares(group: PrivateGroup) -> None:
    noise = torch.empty(2, 1)
    for row, g in zip(noise, range(2), strict=True):
        KeyedRandomness(np.random.default_rng(g)).normal_(row)
    found = group.means(EXACT, ASKED, Purpose.SIMILARITY_ROWS)
    expected = (EXACT + 0.5 * noise / torch.tensor([[1000.0], [10.0]])).clamp(0, 1)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


def test_a_payment_is_good_for_one_answer(group: PrivateGroup) -> None:
    group.means(EXACT, ASKED, Purpose.SIMILARITY_ROWS)
    with pytest.raises(RuntimeError, match="used before: one event, one release"):
        group.means(EXACT, ASKED, Purpose.SIMILARITY_ROWS)


def test_what_nobody_paid_for_is_not_answered(group: PrivateGroup) -> None:
    with pytest.raises(RuntimeError, match="Nobody paid for ANCHOR_ROWS"):
        group.means(EXACT, ASKED, Purpose.ANCHOR_ROWS)
