"""A site's ledger in a study with shared noise: two numbers, and a budget for each.

Events keep the site's own share of the noise, so `Ledger.epsilon` means what it always meant: whoever reads, and if
everybody else conspires. It may grow to what the plan comes to, on top of what was spent before. `epsilon_shared` is
what readers of opened sums can find out; a study's epsilon is aimed at it.
"""

from collections.abc import Sequence
from typing import Final

from secure_sapefl.privacy.accounting import Composition, Running, composition, noise_in_sums, prv_epsilon, rdp_epsilon
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Store
from secure_sapefl.privacy.replaced import replace_one_epsilon
from secure_sapefl.privacy.shared.plan import SharedPlan

_ROUNDING: Final = 1 + 1e-9


class SharedLedger(Ledger):
    def __init__(self, site: str, plan: SharedPlan, study: str, store: Store | None = None) -> None:
        super().__init__(site, plan.budget, store)
        self.shared_budget, delta = plan.budget, plan.budget.delta
        before = composition(event for event in self.events if event.study != study)
        self._in_sums = Running(noise_in_sums, self.events)
        self.budget = Budget(rdp_epsilon([*before, *plan.alone()], delta) * _ROUNDING, delta)

    @property
    def epsilon_shared(self) -> float:
        """Spent so far, by RDP, as readers of opened sums see it."""
        return rdp_epsilon(self.spending_in_sums(), self.shared_budget.delta)

    @property
    def tighter_epsilon_shared(self) -> float | None:
        return prv_epsilon(self.spending_in_sums(), self.shared_budget.delta)

    @property
    def replace_one_epsilon_shared(self) -> float:
        return replace_one_epsilon(self.spending_in_sums(), self.shared_budget.delta)

    def spending_in_sums(self, more: Sequence[Event] = ()) -> Composition:
        """All events, and ``more``, as readers of opened sums see them."""
        return self._in_sums.with_more(more)

    def enter(self, events: Sequence[Event]) -> None:
        super().enter(events)
        self._in_sums.add(events)

    def require_budget(self, more: Sequence[Event]) -> None:
        after = rdp_epsilon(self.spending_in_sums(more), self.shared_budget.delta)
        if after > self.shared_budget.epsilon:
            raise BudgetExhausted(
                f"Site {self.site!r} sits out: {self.epsilon_shared:.4g} of its privacy budget of "
                f"{self.shared_budget.epsilon:g} for opened sums is spent, and this round would take it to {after:.4g} "
                f"(delta {self.shared_budget.delta:g}). Its owner alone may raise the budget."
            )
        super().require_budget(more)
