"""What a study may cost a site in epsilon: by its own terms, and on top of all the site has spent before."""

from collections.abc import Sequence
from dataclasses import dataclass

from secure_sapefl.privacy.accounting import rdp_epsilon, spent
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.paying import AnyTerms
from secure_sapefl.privacy.replaced import replace_one_epsilon
from secure_sapefl.study.terms import StudyTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """By RDP, an upper bound."""

    study: Budget
    lifetime_delta: float
    spent_before: float  # epsilon of all other studies
    studies_before: int
    after: float  # epsilon of all studies, this one run to its end


def cost_of(
    terms: AnyTerms, rows: int, events: Sequence[Event], lifetime_delta: float, least_honest: int | None = None
) -> Cost:
    """``events`` is the site's ledger; what it holds of this very study is part of the study's own cost. Shared noise
    counts where its owner trusts in ``least_honest`` others at least, and there are as many."""
    others = [event for event in events if event.study != terms.study]
    before = spent(others, least_honest)
    return Cost(
        study=terms.budget,
        lifetime_delta=lifetime_delta,
        spent_before=rdp_epsilon(before, lifetime_delta),
        studies_before=len({event.study for event in others}),
        after=rdp_epsilon([*before, *terms.planned(rows, least_honest)], lifetime_delta),
    )


def planned_replace_one(study: StudyTerms, rows: int) -> float:
    """Epsilon of a whole private study for a record that is replaced, at a site that declares ``rows``."""
    terms = study.privacy()
    assert terms is not None
    return replace_one_epsilon(terms.planned(rows, least_honest=1), terms.budget.delta)
