"""Noise on counts: as much as was paid for, and on counts alone."""

import numpy as np
import pytest

from secure_sapefl.privacy.accounting import composition, rdp_epsilon
from secure_sapefl.privacy.counts import (
    SHARE_OF_PREPARATION,
    SHARE_OF_RESULTS,
    CountNoise,
    count_event,
    multiplier_of,
    multiplier_of_preparation,
    multiplier_of_results,
)
from secure_sapefl.privacy.events import PREPARATION, Budget
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness, SecureRandomness

BUDGET = Budget(2.0, 1e-5)
MASK = np.arange(4000) % 4 != 3
NOISE = CountNoise(columns=9, of_records=MASK)


def paid() -> Paid:
    (one,) = Ledger("a", BUDGET).charge([count_event(PREPARATION, multiplier_of(BUDGET), "t")])
    return one


def test_the_noise_has_the_deviation_of_the_payment_and_sums_stay_at_home() -> None:
    exact = np.full(4000, 100)
    sent = NOISE.noised(exact, paid(), SecureRandomness())
    assert not sent[~MASK].any()
    noise = (NOISE.total(sent, sites=1) - exact)[MASK]
    assert noise.std() == pytest.approx(3 * multiplier_of(BUDGET), rel=0.1)
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(MASK.sum())


def test_one_payment_one_release() -> None:
    payment, drawn = paid(), KeyedRandomness(np.random.default_rng(0))
    NOISE.noised(np.zeros(4000, np.int64), payment, drawn)
    with pytest.raises(RuntimeError, match="used before"):
        NOISE.noised(np.zeros(4000, np.int64), payment, drawn)


def test_multipliers_cost_what_they_should() -> None:
    for multiplier, epsilon in (
        (multiplier_of(BUDGET), BUDGET.epsilon),
        (multiplier_of_preparation(BUDGET), SHARE_OF_PREPARATION * BUDGET.epsilon),
        (multiplier_of_results(BUDGET), SHARE_OF_RESULTS * BUDGET.epsilon),
    ):
        spent = rdp_epsilon(composition([count_event(PREPARATION, multiplier, "t")]), BUDGET.delta)
        assert 0.98 * epsilon < spent <= epsilon
