"""What every paying site does, whatever kind of noise hides it."""

from collections.abc import Callable

import pytest

from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.paying import PayingSite
from secure_sapefl.streams import Purpose


class Plain(PayingSite):
    """One event a round."""

    def __init__(self, event: Callable[..., Event], objection: str | None = None) -> None:
        self.name, self.rows, self.study, self._event, self._objection = "north", 10, "s", event, objection
        self.ledger = Ledger("north", Budget(3.0, 1e-5))

    @property
    def objection(self) -> str | None:
        return self._objection

    def events(self, round_index: int) -> dict[Purpose, Event]:
        return {Purpose.LOCAL_BATCHES: self._event(round_index=round_index)}


def test_a_payment_is_on_record_and_can_be_used_again_after_a_crash(event: Callable[..., Event]) -> None:
    site = Plain(event)
    assert not site.has_paid(0)
    site.pay(0)
    assert site.has_paid(0)
    assert site.has_record(0)
    assert site.pay_with_record(0)[Purpose.LOCAL_BATCHES].spend() == event()
    assert not site.has_paid(1)


def test_a_site_with_an_objection_never_pays(event: Callable[..., Event]) -> None:
    site = Plain(event, "too small.")
    with pytest.raises(BudgetExhausted, match="too small"):
        site.pay(0)
    assert site.ledger.events == ()


def test_a_budget_that_is_spent_stops_a_site(event: Callable[..., Event]) -> None:
    site = Plain(event)
    site.pay(0)
    with pytest.raises(BudgetExhausted, match="sits out"):
        site.pay(1)
    assert site.ledger.epsilon <= 3
