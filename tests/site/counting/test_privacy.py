"""A site pays for its counts once, and draws from where the study says."""

from collections.abc import Callable

import numpy as np
import pytest

from secure_sapefl.privacy.ledger import MemoryStore
from secure_sapefl.site.counting.privacy import CountPrivacy
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile

MakeStudy = Callable[..., StudyFile]
BUDGET = {"epsilon": 4, "delta": 1e-5}


def paying(make_study: MakeStudy, noise: str) -> tuple[CountPrivacy, CountingTerms]:
    terms = CountingTerms.before_training(make_study(preparation="common", privacy=BUDGET | {"noise": noise}))
    assert terms is not None
    return CountPrivacy("a", terms, MemoryStore()), terms


@pytest.mark.parametrize(("noise", "same"), [("secure", False), ("repeatable", True)])
def test_noise_comes_from_where_the_study_says(make_study: MakeStudy, noise: str, same: bool) -> None:
    drawn = []
    for _ in range(2):
        privacy, terms = paying(make_study, noise)
        assert not privacy.sites[0].has_record(0)
        assert privacy.admit(0, [0]) == ([0], [])
        assert privacy.sites[0].has_record(0)
        drawn.append(privacy.noised(np.zeros(terms.plan.entries, np.int64)))
    assert np.array_equal(*drawn) == same


def test_nothing_is_released_unpaid_and_a_crash_pays_nothing_twice(make_study: MakeStudy) -> None:
    privacy, terms = paying(make_study, "secure")
    counts = np.zeros(terms.plan.entries, np.int64)
    with pytest.raises(IndexError):
        privacy.noised(counts)
    privacy.admit(0, [0])
    privacy.readmit(0, [0])
    privacy.noised(counts)
    assert len(privacy.sites[0].ledger.events) == 1


def test_a_spent_budget_declines(make_study: MakeStudy) -> None:
    terms = CountingTerms.of_table_one(make_study(kind="statistics", rounds=1, privacy=BUDGET))
    privacy = CountPrivacy("a", terms, MemoryStore())
    privacy.admit(0, [0])
    admitted, (refusal,) = privacy.admit(0, [0])
    assert admitted == []
    assert "sits out" in refusal.reason
