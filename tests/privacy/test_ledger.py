from collections.abc import Callable, Sequence

import pytest

from secure_sapefl.privacy.accounting import composition, prv_epsilon, rdp_epsilon
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Paid


def test_epsilon_is_computed_from_the_events(event: Callable[..., Event], budget: Budget) -> None:
    ledger = Ledger("north", budget)
    assert ledger.epsilon == 0
    events = (event(), event(noise_multiplier=20.0, sample_rate=1.0, steps=1, mechanism="gaussian"))
    ledger.charge(events)
    assert ledger.events == events
    assert ledger.epsilon == rdp_epsilon(composition(events), budget.delta)
    tighter = ledger.tighter_epsilon
    assert tighter == prv_epsilon(composition(events), budget.delta)
    assert tighter is not None
    assert tighter < ledger.epsilon


def test_a_charge_over_budget_is_refused_whole_and_leaves_no_trace(event: Callable[..., Event], budget: Budget) -> None:
    ledger = Ledger("north", budget)
    ledger.charge([event()])
    before = ledger.epsilon
    with pytest.raises(BudgetExhausted, match="'north' sits out") as refusal:
        ledger.charge([event(steps=1), event(steps=100_000)])
    assert f"{before:.4g} of its privacy budget of 4" in str(refusal.value)
    assert ledger.events == (event(),)
    ledger.charge([event(steps=1)])


def test_rounds_are_refused_from_the_first_that_does_not_fit(event: Callable[..., Event], budget: Budget) -> None:
    ledger = Ledger("north", budget)
    while rdp_epsilon(composition((*ledger.events, event())), budget.delta) <= budget.epsilon:
        ledger.charge([event()])
    with pytest.raises(BudgetExhausted):
        ledger.charge([event()])
    assert len(ledger.events) == 2
    assert ledger.epsilon <= budget.epsilon


def test_no_release_without_the_ledger(event: Callable[..., Event]) -> None:
    with pytest.raises(TypeError, match=r"Only Ledger\.charge"):
        Paid(event(), object())


def test_a_payment_is_good_for_one_release(event: Callable[..., Event], budget: Budget) -> None:
    (paid,) = Ledger("north", budget).charge([event()])
    assert paid.spend() == event()
    with pytest.raises(RuntimeError, match="one event, one release"):
        paid.spend()


class FullDisk:
    def load(self) -> Sequence[Event]:
        return ()

    def append(self, events: Sequence[Event]) -> None:
        raise OSError("no space left")


def test_what_could_not_be_written_is_neither_paid_nor_counted(event: Callable[..., Event], budget: Budget) -> None:
    ledger = Ledger("north", budget, FullDisk())
    with pytest.raises(OSError, match="no space"):
        ledger.charge([event()])
    assert ledger.events == ()
