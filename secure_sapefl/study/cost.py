"""What a study may cost a site in epsilon: by its own terms, and on top of all the site has spent before."""

from collections.abc import Sequence
from dataclasses import dataclass

from secure_sapefl.privacy.accounting import Composition, composition, rdp_epsilon
from secure_sapefl.privacy.calibration import calibrate
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.replaced import replace_one_epsilon
from secure_sapefl.privacy.study import Terms
from secure_sapefl.study.terms import StudyTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """By RDP, an upper bound."""

    study: Budget
    lifetime_delta: float
    spent_before: float  # epsilon of all other studies
    studies_before: int
    after: float  # epsilon of all studies, this one run to its end


def cost_of(terms: Terms, rows: int, events: Sequence[Event], lifetime_delta: float) -> Cost:
    """``events`` is the site's ledger; what it holds of this very study is part of the study's own cost."""
    others = [event for event in events if event.study != terms.study]
    return Cost(
        study=terms.budget,
        lifetime_delta=lifetime_delta,
        spent_before=rdp_epsilon(composition(others), lifetime_delta),
        studies_before=len({event.study for event in others}),
        after=rdp_epsilon([*composition(others), *_planned(terms, rows)], lifetime_delta),
    )


def planned_replace_one(study: StudyTerms, rows: int) -> float:
    """Epsilon of a whole private study for a record that is replaced, at a site that declares ``rows``."""
    terms = study.privacy()
    assert terms is not None
    return replace_one_epsilon(_planned(terms, rows), terms.budget.delta)


def _planned(terms: Terms, rows: int) -> Composition:
    schedule = terms.schedule(rows)
    return schedule.composition(calibrate(terms.budget, schedule))
