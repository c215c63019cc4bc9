"""One ledger of differential privacy a site, shared by all its studies, and two budgets that it must keep.

A study's own budget counts the study's releases (`privacy.ledger.Ledger` does that); the owner's lifetime budget counts
every release the site ever made. Either one stops a round before anything is released.
"""

from collections.abc import Sequence

from secure_sapefl.privacy.accounting import rdp_epsilon, spent
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Store


class StudyStore:
    """The part of a site's lifetime ledger that belongs to one study, by its `StudyFile.wire_name`."""

    def __init__(self, ledger: Store, study: str, lifetime: Budget, least_honest: int | None = None) -> None:
        """``least_honest`` is how many others an owner trusts in who accepts shared noise (`Policy.least_honest`)."""
        self._ledger, self._study, self._lifetime, self._least_honest = ledger, study, lifetime, least_honest
        self._events = list(ledger.load())

    def load(self) -> Sequence[Event]:
        return [event for event in self._events if event.study == self._study]

    def append(self, events: Sequence[Event]) -> None:
        after = self.lifetime_epsilon(events)
        if after > self._lifetime.epsilon:
            raise BudgetExhausted(
                f"This round would take what the site has spent on all its studies to {after:.4g}, above its lifetime "
                f"budget of {self._lifetime.epsilon:g} (delta {self._lifetime.delta:g}). Its owner alone may raise it, "
                "in policy.toml."
            )
        self._ledger.append(events)
        self._events += events

    def lifetime_epsilon(self, more: Sequence[Event] = ()) -> float:
        """Spent on all studies, by RDP, and what ``more`` would make of it."""
        return rdp_epsilon(spent((*self._events, *more), self._least_honest), self._lifetime.delta)

    def close(self) -> None:
        self._ledger.close()
