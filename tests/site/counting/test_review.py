"""What an owner is shown of counts before consent."""

from collections.abc import Callable

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.review import review_site
from secure_sapefl.study.counting import any_terms
from secure_sapefl.study.counting_words import SEEN_FIRST, TWO_SITES
from secure_sapefl.study.file import StudyFile

MakeStudy = Callable[..., StudyFile]
TABLE_ONE = {"kind": "statistics", "rounds": 1, "min_cohort": 3}


def said(home: SiteHome, study: StudyFile) -> dict[str, str]:
    return {line.topic: line.says for line in review_site(home, any_terms(study)).lines}


def test_a_table_says_who_sees_small_cells_and_what_two_sites_mean(home: SiteHome, make_study: MakeStudy) -> None:
    lines = [line.says for line in review_site(home, any_terms(make_study(**TABLE_ONE | {"min_cohort": 2}))).lines]
    assert SEEN_FIRST in lines
    assert TWO_SITES in lines
    assert TWO_SITES not in said(home, make_study(**TABLE_ONE)).values()


def test_without_a_budget_it_is_a_conflict_with_a_cautious_policy(home: SiteHome, make_study: MakeStudy) -> None:
    review = review_site(home, any_terms(make_study(**TABLE_ONE)))
    assert [line.topic for line in review.conflicts] == ["differential privacy"]
    private = make_study(**TABLE_ONE, privacy={"epsilon": 1, "delta": 1e-5})
    review = review_site(home, any_terms(private))
    assert review.conflicts == ()
    assert "noise of deviation" in said(home, private)["epsilon of this study"]


def test_too_large_a_budget_is_a_conflict(home: SiteHome, make_study: MakeStudy) -> None:
    review = review_site(home, any_terms(make_study(**TABLE_ONE, privacy={"epsilon": 20, "delta": 1e-3})))
    topics = {line.topic for line in review.conflicts}
    assert topics == {"epsilon of this study", "delta of this study", "epsilon over all studies"}


def test_a_study_that_trains_says_what_leaves_before_its_first_round(home: SiteHome, make_study: MakeStudy) -> None:
    study = make_study(preparation="common", privacy={"epsilon": 4, "delta": 1e-5})
    assert "with noise" in said(home, study)["leaves: counts (preparation)"]
    assert not [topic for topic in said(home, make_study(preparation="public")) if "counts" in topic]


def test_a_file_that_does_not_fit_is_refused(home: SiteHome, make_study: MakeStudy) -> None:
    home.data_path.write_text(home.data_path.read_text().replace("chol", "lohc"))
    with pytest.raises(BadInput, match="no column 'chol'"):
        review_site(home, any_terms(make_study(**TABLE_ONE)))
