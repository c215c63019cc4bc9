"""From a draft to a study: filled in, spelt out, and shown to people without letting the file speak for itself."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import BadInput, StudyRejected, UnknownName
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.study import terms as study_terms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import feature_of, merged, new_study
from secure_sapefl.study.sheet import data_protection_note, facts, to_json
from secure_sapefl.study.templating import plain
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
DRAFT: dict[str, Any] = {
    "name": "heart",
    "largest_site": 50,
    "data": {"label": "y", "classes": ["n", "p"], "features": [{"name": "age", "low": 0, "high": 120}]},
}


def make(draft: dict[str, Any], coordinator: SiteIdentity, identities: list[SiteIdentity]) -> StudyFile:
    return new_study(draft, coordinator.public, [site.public for site in identities])


def test_keys_are_filled_in_and_options_spelt_out(coordinator: SiteIdentity, identities: list[SiteIdentity]) -> None:
    study = make({**DRAFT, "options": {"influence": 0.25}}, coordinator, identities)
    assert (study.method, study.sites, study.coordinator_keys) == ("sapefl", ("a", "b", "c"), coordinator.public)
    assert study.options["influence"] == 0.25
    assert study.options["similarity_threshold"] == 0.5  # a later release may have another default
    assert study.protection.max_clients == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"coordinator": "me"}, "'coordinator' is put in by this command"),
        ({"signature": "x"}, "'signature' is put in"),
        ({"method": "local"}, "sends nothing"),
        ({"options": {"influenze": 1}}, "Did you mean 'influence'"),
        ({"data": {}}, "schema"),
        ({"largest_site": 0}, "largest_site"),
    ],
)
def test_a_draft_that_is_no_study(
    coordinator: SiteIdentity, identities: list[SiteIdentity], change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        make({**DRAFT, **change}, coordinator, identities)


def test_privacy_is_not_promised_for_a_method_without_a_private_form(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = replace(ALGORITHMS["fedavg"], releases=NotPrivate("it reads records as they are."))
    monkeypatch.setattr(study_terms, "configured", lambda *_: (public, NoOptions()))
    StudyTerms.from_file(make_study(method="fedavg"))
    with pytest.raises(StudyRejected, match="no differentially private form: it reads records as they are"):
        StudyTerms.from_file(make_study(method="fedavg", privacy={"epsilon": 4, "delta": 1e-5}))


def test_a_misspelt_method_is_answered_with_the_nearest(
    coordinator: SiteIdentity, identities: list[SiteIdentity]
) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'fedavg'"):
        make({**DRAFT, "method": "fedvag"}, coordinator, identities)
    with pytest.raises(StudyRejected, match="is put in"):
        make({**DRAFT, "roster": []}, coordinator, identities)


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("age:0..120", {"name": "age", "low": 0.0, "high": 120.0}),
        ("t:-1e2..0.5", {"name": "t", "low": -100.0, "high": 0.5}),
        ("o?:-3..7@1", {"name": "o", "low": -3.0, "high": 7.0, "typical": 1.0, "may_be_missing": True}),
        ("bmi", {"name": "bmi"}),
        ("sex:f|m", {"name": "sex", "kind": "categorical", "levels": ["f", "m"]}),
        ("chol?:0..600", {"name": "chol", "low": 0.0, "high": 600.0, "may_be_missing": True}),
        ("smoker?:no|yes", {"name": "smoker", "kind": "categorical", "levels": ["no", "yes"], "may_be_missing": True}),
    ],
)
def test_a_feature_in_one_word(text: str, feature: dict[str, Any]) -> None:
    assert feature_of(text) == {"may_be_missing": False, **feature}


@pytest.mark.parametrize("text", ["", ":0..1", "age:low..high", "?:f|m", "age:0..1@x"])
def test_what_is_no_feature(text: str) -> None:
    with pytest.raises(BadInput):
        feature_of(text)


def test_options_win_over_a_draft_key_by_key() -> None:
    draft = {"rounds": 3, "privacy": {"epsilon": 1, "clip": 2}}
    assert merged(draft, {"privacy": {"epsilon": 4}, "seed": 1}) == {
        "rounds": 3, "seed": 1, "privacy": {"epsilon": 4, "clip": 2},
    }  # fmt: skip


def test_the_terms_are_those_of_the_simulator(make_study: MakeStudy) -> None:
    terms = StudyTerms.from_file(make_study(participation=0.6, peers_per_client=1))
    study = terms.blueprint.study
    assert study.name == terms.file.wire_name
    assert (study.cohort_size, study.max_score, study.parameters) == (2, 1.0, 9026)
    assert (
        StudyTerms.from_file(make_study(method="fedavg")).blueprint.study.max_score == 100.0
    )  # rows of the largest site
    assert terms.privacy() is None


def test_a_study_in_words_and_in_json(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study)
    said = r"at most ε 4 at δ 1e-05 for each record of a site, added or removed, and at most ([\d.]+) for one replaced"
    found = re.fullmatch(said + "; noise secure", facts(terms)["privacy"])
    assert found is not None
    assert 6 < float(found[1]) < 10
    assert facts(terms)["neighbours"] == to_json(terms)["neighbours"] == ADJACENCY
    assert facts(terms)["declared"] == "a 100, b 100, c 100 training records; everybody may know these numbers"
    assert ADJACENCY in data_protection_note(terms)
    assert facts(terms)["rounds"] == "2, each with 3 of 3 sites; counts with 2, closes after 600 s"
    document = to_json(terms)
    assert (document["digest"], list(document["sites"])) == (study.digest, ["a", "b", "c"])
    assert [part["field"] for part in document["leaves"]][1] == "update"


def test_the_note_for_a_data_officer_is_filled_in(study: StudyFile, make_study: MakeStudy) -> None:
    note = data_protection_note(StudyTerms.from_file(study))
    for sentence in (
        study.digest,
        study.coordinator_keys.fingerprint,
        "(ε, δ) = (4, 1e-05)",
        "age, sex, chol",
        "Retention",
    ):
        assert sentence in note
    without = data_protection_note(StudyTerms.from_file(make_study(purpose="Find <b>risk</b> | factors")))
    assert "Privacy budget\n\nNone." in without
    assert r"Find \<b\>risk\</b\> \| factors" in without
    trial = make_study(privacy={"epsilon": 4, "delta": 1e-5, "noise": "repeatable"})
    assert "REPEATABLE" in data_protection_note(StudyTerms.from_file(trial))


def test_markdown_shows_text_as_it_is() -> None:
    assert plain("a|b*c_[d](e)<f>&#g") == r"a\|b\*c\_\[d\](e)\<f\>\&\#g"
