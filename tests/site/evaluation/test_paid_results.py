"""Test results of a private study: one payment, one release, and none without."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from secure_sapefl.privacy.counts import RESULT_NOISE
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import TEST_RESULTS, Budget
from secure_sapefl.privacy.ledger import Ledger, MemoryStore
from secure_sapefl.protocol.results import STEP, row_counts
from secure_sapefl.protocol.sums import NOISE_OFFSET
from secure_sapefl.site.evaluation.paid_results import paid_results
from tests.deployed_study import PRIVATE, World

OUTPUTS, Y = np.eye(2, dtype=np.float32)[[0, 1, 1, 0]], np.array([0, 1, 0, 0])


class Paying:
    """The one site that pays, as `StudyPrivacy` has it."""

    def __init__(self, budget: Budget) -> None:
        self.name, self.ledger = "north", Ledger("north", budget, MemoryStore())

    @property
    def sites(self) -> tuple["Paying"]:
        return (self,)


@pytest.fixture
def private(world: Callable[..., World]) -> World:
    return world(rounds=1, method="fedavg", metrics="sum", privacy=PRIVATE)


def test_it_is_paid_for_then_noised_and_only_once(private: World) -> None:
    site: Any = Paying(Budget(PRIVATE.epsilon, PRIVATE.delta))
    found = paid_results(private.terms, site, OUTPUTS, Y)
    (event,) = site.ledger.events
    assert (event.release, event.mechanism, event.study) == (TEST_RESULTS, "gaussian", private.file.wire_name)
    assert found is not None
    noise = found - NOISE_OFFSET - row_counts(OUTPUTS, Y)
    assert 0 < np.abs(noise).max() < 8 * RESULT_NOISE.deviation(event.noise_multiplier)
    assert paid_results(private.terms, site, OUTPUTS, Y) is None
    assert len(site.ledger.events) == 1


def test_a_budget_that_does_not_bear_it_lets_nothing_leave(private: World) -> None:
    site: Any = Paying(Budget(PRIVATE.epsilon, PRIVATE.delta))
    paid_results(private.terms, site, OUTPUTS, Y)
    (event,) = site.ledger.events
    poor: Any = Paying(Budget(PRIVATE.epsilon, PRIVATE.delta))
    with suppress(BudgetExhausted):
        while True:
            poor.ledger.charge([replace(event, study="another")])
    spent = len(poor.ledger.events)
    assert paid_results(private.terms, poor, OUTPUTS, Y) is None
    assert len(poor.ledger.events) == spent


def test_noise_is_as_wide_as_what_it_hides() -> None:
    """Two counts of at most a step each, by one row."""
    assert RESULT_NOISE.deviation(1.0) == pytest.approx(np.sqrt(2) * STEP)
    assert RESULT_NOISE.of_records.all()
