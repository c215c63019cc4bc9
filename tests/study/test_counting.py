"""Studies in which sites only count: what they are called, and what they need."""

from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.study.counting import CountingTerms, any_terms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import new_study
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}
IMAGES = {"kind": "images", "height": 8, "width": 8, "classes": ["a", "b"]}
TABLE_ONE: dict[str, Any] = {"kind": "statistics", "rounds": 1}


def test_what_comes_before_training_has_a_name_of_its_own(make_study: MakeStudy) -> None:
    study = make_study(preparation="common")
    before = CountingTerms.before_training(study)
    assert before is not None
    assert before.file.wire_name != study.wire_name
    assert before.study.name == before.file.wire_name
    again = CountingTerms.before_training(make_study(preparation="common"))
    other = CountingTerms.before_training(make_study(preparation="common", seed=1))
    assert again is not None
    assert other is not None
    assert again.file.digest == before.file.digest != other.file.digest
    assert (before.study.participation, before.study.least_contributors) == (1.0, study.min_cohort)
    assert CountingTerms.before_training(make_study()) is None


def test_a_table_has_no_model_and_a_model_no_table(make_study: MakeStudy) -> None:
    study = make_study(**TABLE_ONE)
    terms = any_terms(study)
    assert isinstance(terms, CountingTerms)
    assert terms.plan.classes == 2
    assert isinstance(any_terms(make_study()), StudyTerms)
    with pytest.raises(StudyRejected, match="has no model"):
        StudyTerms.from_file(study)


def test_a_preparation_costs_less_than_the_whole_budget(make_study: MakeStudy) -> None:
    table = CountingTerms.of_table_one(make_study(**TABLE_ONE, privacy=PRIVATE))
    before = CountingTerms.before_training(make_study(preparation="common", privacy=PRIVATE))
    assert before is not None
    assert before.multiplier is not None
    assert table.multiplier is not None
    assert before.multiplier > 5 * table.multiplier
    assert CountingTerms.of_table_one(make_study(**TABLE_ONE)).multiplier is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"kind": "statistics"}, "has one round"),
        (
            {"preparation": "common", "dp_noise": "shared", "privacy": PRIVATE, "min_cohort": 3},
            "noise of each site's own",
        ),
        (
            {"preparation": "common", "data": {"kind": "images", "height": 8, "width": 8, "classes": ["a", "b"]}},
            "tables",
        ),
        (
            {
                "preparation": "common",
                "data": {"label": "y", "classes": ["a", "b"], "features": [{"name": "x"}], "scaling": "site"},
            },
            "'x' has none",
        ),
    ],
)
def test_what_cannot_be_counted_is_said_when_the_study_is_made(
    make_study: MakeStudy, changed: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        make_study(**changed)


def test_new_studies_agree_on_a_preparation_unless_they_are_private(
    study_values: dict[str, Any], coordinator: Any, identities: Any
) -> None:
    draft = {name: value for name, value in study_values.items() if name not in ("coordinator", "roster")}
    sites = [one.public for one in identities]

    def made(**more: Any) -> StudyFile:
        return new_study(draft | more, coordinator.public, sites)

    assert made().preparation == "common"
    assert made(privacy=PRIVATE).preparation == "public"
    assert made(preparation="site").preparation == "site"
    assert (made(kind="statistics").rounds, made(kind="statistics").preparation) == (1, None)
