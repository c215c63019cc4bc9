"""Shared noise in words for people who decide, the same in review, study sheet and data protection note."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secure_sapefl.privacy.shared.plan import SharedPlan


def both_numbers(plan: "SharedPlan") -> str:
    """Never one without the other, nor without m and t."""
    unit = {"record": "record of this site", "person": "person in this site's records", "site": "whole site"}[plan.unit]
    m, t, honest = plan.parties.contributors, plan.parties.colluders, plan.parties.honest
    return (
        f"epsilon_shared at most {plan.budget.epsilon:g} for every {unit}, added or removed, whoever reads opened "
        f"sums. It rests on sums of {m} sites or more, of whom {t} may collude: then {honest} shares of the noise are "
        f"known to no reader. epsilon_max at most {plan.epsilon_max:.3g}, if everybody else conspires. A round that "
        "would cost more is refused, and so is a sum of fewer sites"
    )
