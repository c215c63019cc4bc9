"""A site's privacy ledger: append-only, written before a release is made, and the only source of `Paid`.

Nothing private can be released without a `Paid`, and a `Paid` exists only for an event that the store has on record.
After a crash a site may have counted a release that never left; it can never have released one it did not count.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Protocol

from secure_sapefl.privacy.accounting import Composition, Running, noise_alone, prv_epsilon, rdp_epsilon
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.replaced import replace_one_epsilon

_MINT: Final = object()


class Paid:
    """Proof that an event is on record: good for one release, made with that event's own noise, rate and steps."""

    __slots__ = ("_event", "_spent")

    def __init__(self, event: Event, mint: object) -> None:
        if mint is not _MINT:
            raise TypeError("Only Ledger.charge hands out proof of payment.")
        self._event, self._spent = event, False

    def spend(self) -> Event:
        """The event, once. A second release would not be paid for."""
        if self._spent:
            raise RuntimeError(f"The payment for {self._event.release!r} was used before: one event, one release.")
        self._spent = True
        return self._event


class Store(Protocol):
    """Where events are kept. ``append`` returns only when they are there to stay."""

    def load(self) -> Sequence[Event]: ...

    def append(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


class MemoryStore:
    """For simulations: gone with the process."""

    def load(self) -> Sequence[Event]:
        return ()

    def append(self, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass


class Ledger:
    """Events of one site over rounds, runs and studies, and a budget none of them may exceed."""

    def __init__(self, site: str, budget: Budget, store: Store | None = None) -> None:
        self.site, self.budget = site, budget
        self.store: Store = MemoryStore() if store is None else store
        self._events = list(self.store.load())
        self._alone = Running(noise_alone, self._events)

    def close(self) -> None:
        """Let another process have it."""
        self.store.close()

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)

    @property
    def epsilon(self) -> float:
        """Spent so far, by RDP at the budget's delta; the number the budget is held to."""
        return rdp_epsilon(self.spending(), self.budget.delta)

    @property
    def tighter_epsilon(self) -> float | None:
        """Spent so far, by PRV; None beyond its range."""
        return prv_epsilon(self.spending(), self.budget.delta)

    @property
    def replace_one_epsilon(self) -> float:
        """Spent so far for a record that is replaced, by RDP."""
        return replace_one_epsilon(self.spending(), self.budget.delta)

    def spending(self, more: Sequence[Event] = ()) -> Composition:
        """All events, and ``more``."""
        return self._alone.with_more(more)

    def charge(self, events: Sequence[Event]) -> tuple[Paid, ...]:
        """Put all of ``events`` on record, or refuse all of them; then, and only then, hand out proof."""
        self.require_budget(events)
        self.store.append(events)
        self.enter(events)
        return tuple(Paid(event, _MINT) for event in events)

    def enter(self, events: Sequence[Event]) -> None:
        """Count what the store has on record."""
        self._events += events
        self._alone.add(events)

    def require_budget(self, more: Sequence[Event]) -> None:
        """`BudgetExhausted` where ``more`` would exceed it."""
        after = rdp_epsilon(self.spending(more), self.budget.delta)
        if after > self.budget.epsilon:
            raise BudgetExhausted(
                f"Site {self.site!r} sits out: {self.epsilon:.4g} of its privacy budget of {self.budget.epsilon:g} is "
                f"spent, and this round would take it to {after:.4g} (delta {self.budget.delta:g}). "
                "Its owner alone may raise the budget."
            )

    def holds(self, events: Sequence[Event]) -> bool:
        """Whether all of ``events`` are on record: as often as they are asked for, since equal ones are paid one by
        one, and a crash may have left some of them only."""
        return Counter(events) <= Counter(self._events)

    def reissue(self, events: Sequence[Event]) -> tuple[Paid, ...]:
        """Proof again for events on record whose releases never left, because the process died before it could send.

        One event still means one release: only who keeps a record of what was sent may say that nothing was.
        """
        if not self.holds(events):
            raise RuntimeError(f"Site {self.site!r}: only a payment on record can be used after a crash.")
        return tuple(Paid(event, _MINT) for event in events)
