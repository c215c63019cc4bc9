"""A study with shared noise held against a site's policy: two numbers, and what the smaller one rests on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from secure_sapefl.config import KeyChoice
from secure_sapefl.site.policy import Line, Policy
from secure_sapefl.study.shared_words import both_numbers

if TYPE_CHECKING:
    from secure_sapefl.privacy.shared.plan import SharedPlan

_NOT_ACCEPTED: Final = "max_epsilon_shared and min_honest_sites are not both set: shared noise is refused"
_ALONE: Final = (
    "Whoever opens this site's update by itself finds it behind this site's share of the noise alone, for which "
    "epsilon_max stands. "
)
_OF_A_RECORD: Final = (
    "Both numbers are for a whole {unit}. One record more or less makes another {unit} of it, and costs what it costs "
    "to replace one. The sum over all studies adds up numbers as they are: beside studies of another unit it is exact "
    "for none"
)
_WHO: Final[dict[KeyChoice, str]] = {
    "shared": "With a cohort key that all sites hold, the server and one site together can do that",
    "joint": "With joint keys that takes the server and two thirds of a committee, while the round lasts",
}


def shared_lines(plan: "SharedPlan", policy: Policy, keys: KeyChoice = "shared") -> Iterator[Line]:
    yield Line.judged("epsilon of this study", both_numbers(plan), _accepted(plan, policy), _limits(policy))
    yield Line(topic="shared noise", says=_ALONE + _WHO[keys], verdict="note")
    if plan.unit != "record":
        yield Line(topic="unit", says=_OF_A_RECORD.format(unit=plan.unit), verdict="note")


def _accepted(plan: "SharedPlan", policy: Policy) -> bool:
    if policy.max_epsilon_shared is None or policy.min_honest_sites is None:
        return False
    return plan.budget.epsilon <= policy.max_epsilon_shared and plan.parties.honest >= policy.min_honest_sites


def _limits(policy: Policy) -> str:
    if policy.max_epsilon_shared is None or policy.min_honest_sites is None:
        return _NOT_ACCEPTED
    return f"max_epsilon_shared = {policy.max_epsilon_shared:g}, min_honest_sites = {policy.min_honest_sites}"
