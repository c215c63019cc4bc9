"""What a study may cost a site: by its own terms, and beside all that was spent before."""

from typing import Any

import pytest

from secure_sapefl.privacy.events import Event
from secure_sapefl.study.cost import cost_of, planned_replace_one
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


def event(**changed: Any) -> Event:
    values = {"mechanism": "dp-sgd", "release": "update", "noise_multiplier": 1.0, "sample_rate": 0.2, "steps": 50}
    return Event(**{**values, "round_index": 0, "study": "earlier", **changed})  # type: ignore[arg-type]


def test_this_studys_own_spending_is_not_counted_twice(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study).privacy()
    assert terms is not None
    fresh = cost_of(terms, 80, (), 1e-5)
    begun = cost_of(terms, 80, [event(study=study.wire_name, steps=500)], 1e-5)
    assert (fresh.spent_before, fresh.studies_before) == (0, 0)
    assert begun == fresh
    assert 0.98 * 4 < fresh.after <= 4


def test_earlier_studies_are_counted_by_name_and_add_up(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study).privacy()
    assert terms is not None
    cost = cost_of(terms, 80, [event(), event(round_index=1), event(study="another")], 1e-5)
    assert cost.studies_before == 2
    assert 0 < cost.spent_before < cost.after
    assert cost.after > cost_of(terms, 80, (), 1e-5).after
    assert cost.study.epsilon == 4


def test_a_replaced_record_costs_more_than_one_added_and_at_most_about_twice(study: StudyFile) -> None:
    assert 4 < planned_replace_one(StudyTerms.from_file(study), 80) < 10


def test_without_privacy_there_is_nothing_to_plan(study: StudyFile) -> None:
    with pytest.raises(AssertionError):
        planned_replace_one(StudyTerms.from_file(study.model_copy(update={"privacy": None})), 80)
