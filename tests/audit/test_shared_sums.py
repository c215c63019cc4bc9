"""An opened sum and one update alone, each against its own number; and what is wrong with the noise shows in them."""

from collections.abc import Callable

import numpy as np
import pytest

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.audit.shared_sums import SharedBench, audit_shared
from secure_sapefl.config import PrivacyUnit
from secure_sapefl.data import Rows
from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.form import releases
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.privacy.shared.terms import SharedTerms
from secure_sapefl.tasks.builtin import CLASSIFICATION

MODEL = StackedModel((Linear(5, 3),), classes=3, widest=5)


@pytest.fixture
def bench() -> Callable[..., SharedBench]:
    """A study of one step in which everybody is drawn: all of its epsilon is in the one sum."""

    def make(honest: int = 9, unit: PrivacyUnit = "record", trials: int = 250, seed: int = 1) -> SharedBench:
        plan = SharedPlan(
            budget=Budget(1.0, 1e-5),
            parties=Parties(honest + 2, 1),
            unit=unit,
            steps=1,
            charged=1,
            rate=1.0,
            clip=1.0,
            lr=1.0,
            optimizer="momentum",
            units=440,
            most_units=40,
            sites=honest + 2,
        )
        carriage = Carriage.for_plan(plan, MODEL.parameters, Parameters.exact(max_clients=honest + 2))
        terms = SharedTerms(
            study="s", plan=plan, releases=releases(NoOptions(), 1), secure_noise=False, carriage=carriage
        )
        rng = np.random.default_rng(3)
        rows = Rows(rng.normal(size=(40, 5)).astype(np.float32), rng.integers(0, 3, 40))
        theta = MODEL.initial(np.random.default_rng(0))
        return SharedBench(
            terms=terms,
            rows=rows,
            model=MODEL,
            undrawn=MODEL,
            task=CLASSIFICATION,
            theta=theta,
            trials=trials,
            seed=seed,
        )

    return make


@pytest.mark.parametrize("unit", ["record", "person", "site"])
def test_each_stays_below_its_own_number(bench: Callable[..., SharedBench], unit: PrivacyUnit) -> None:
    opened, alone = audit_shared(bench(unit=unit))
    assert opened.claimed == pytest.approx(1.0, rel=0.02)
    assert alone.claimed > 3 * opened.claimed
    assert not opened.broken
    assert not alone.broken
    assert alone.reachable > opened.claimed


@pytest.mark.slow
def test_one_update_alone_is_not_protected_by_the_smaller_number(bench: Callable[..., SharedBench]) -> None:
    """Which is why both are told: with 40 honest sites, who opens one update sees more than epsilon_shared allows."""
    opened, alone = audit_shared(bench(honest=40))
    assert alone.lower > opened.claimed


@pytest.mark.slow
def test_shares_divided_by_the_number_of_sites_show_in_the_sum(
    bench: Callable[..., SharedBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of its square root: the ledger says one thing and the noise is another. It takes a thousand trials: with
    250, whether that is seen depends on the draws."""
    made = bench(honest=40, trials=1000)
    right = Carriage.deviation

    def too_small(self: Carriage, noise_multiplier: float) -> float:
        return right(self, noise_multiplier) / np.sqrt(40)

    monkeypatch.setattr(Carriage, "deviation", too_small)
    opened, _ = audit_shared(made)
    assert opened.broken


def test_whole_updates_that_are_not_clipped_show_in_the_sum(
    bench: Callable[..., SharedBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secure_sapefl.privacy.shared.mechanism.ROOM", 1000.0)  # clips
    opened, _ = audit_shared(bench(unit="site"))
    assert opened.broken


def test_noise_forgotten_shows_in_one_update(
    bench: Callable[..., SharedBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "secure_sapefl.privacy.shared.mechanism.rounded_gaussian", lambda _, __, count: np.zeros(count, dtype=np.int64)
    )
    opened, alone = audit_shared(bench())
    assert opened.broken
    assert alone.lower > 3
