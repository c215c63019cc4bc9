"""What follows from a study file is what a simulation has, and impossible studies have none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from sapefl_crypto import Parameters
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.study import terms as study_terms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]


def test_privacy_is_not_promised_for_a_method_without_a_private_form(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = replace(ALGORITHMS["fedavg"], releases=NotPrivate("it reads records as they are."))
    monkeypatch.setattr(study_terms, "configured", lambda *_: (public, NoOptions()))
    StudyTerms.from_file(make_study(method="fedavg"))
    with pytest.raises(StudyRejected, match="no differentially private form: it reads records as they are"):
        StudyTerms.from_file(make_study(method="fedavg", privacy={"epsilon": 4, "delta": 1e-5}))


def test_the_terms_are_those_of_the_simulator(make_study: MakeStudy) -> None:
    terms = StudyTerms.from_file(make_study(participation=0.6, peers_per_client=1))
    study = terms.blueprint.study
    assert study.name == terms.file.wire_name
    assert (study.cohort_size, study.max_score, study.parameters) == (2, 1.0, 9026)
    assert (
        StudyTerms.from_file(make_study(method="fedavg")).blueprint.study.max_score == 100.0
    )  # rows of the largest site
    assert terms.privacy() is None


def test_a_method_that_sends_nothing_is_no_study(make_study: MakeStudy) -> None:
    with pytest.raises(StudyRejected, match="sends nothing"):
        StudyTerms.from_file(make_study(method="local"))


def test_the_plan_of_encryption_is_the_files(make_study: MakeStudy) -> None:
    terms = StudyTerms.from_file(make_study(protection={"max_clients": 7, "max_abs_value": 2.0}))
    assert terms.params == Parameters.exact(max_clients=7, max_abs_value=2.0)


def test_privacy_terms_bear_the_studys_name_and_budget(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study).privacy()
    assert terms is not None
    assert (terms.study, terms.budget.epsilon, terms.budget.delta) == (study.wire_name, 4, 1e-5)


def test_a_weak_delta_is_said_by_what_sites_declare(make_study: MakeStudy) -> None:
    assert StudyTerms.from_file(make_study()).weak_delta is None
    weak = StudyTerms.from_file(make_study(privacy={"epsilon": 4, "delta": 0.5})).weak_delta
    assert "not below 1 / n at 3 of 3 sites" in str(weak)


def test_without_shared_noise_there_is_no_plan_to_tell(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study)
    assert (terms.shared, terms.plan()) == (None, ())


def test_joint_keys_have_a_plan_and_committees_of_all_sites_while_they_are_few(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = StudyTerms.from_file(make_study(keys="joint"))
    assert isinstance(terms.params, JointPlan)
    assert terms.joint().committee(0).members == ("a", "b", "c")
    assert not terms.draws_committees
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 2)
    assert terms.draws_committees
    assert not StudyTerms.from_file(make_study(keys="joint", method="fedacs")).draws_committees
    assert not StudyTerms.from_file(make_study()).draws_committees


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [({"scores": "hidden"}, "hidden scores do not go together"), ({"colluders": 2}, "need 4 senders in a round")],
)
def test_what_joint_keys_cannot_be_is_said_before_anybody_approves(
    make_study: MakeStudy, fields: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        StudyTerms.from_file(make_study(keys="joint", **fields))
