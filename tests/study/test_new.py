"""From a draft to a study: filled in, spelt out, and shown to people without letting the file speak for itself."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, StudyRejected, UnknownName
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import feature_of, merged, new_study, recommended_keys

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


def test_a_misspelt_method_is_answered_with_the_nearest(
    coordinator: SiteIdentity, identities: list[SiteIdentity]
) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'fedavg'"):
        make({**DRAFT, "method": "fedvag"}, coordinator, identities)
    with pytest.raises(StudyRejected, match="is put in"):
        make({**DRAFT, "roster": []}, coordinator, identities)


@pytest.mark.parametrize(
    ("absent", "sentence"),
    [("largest_site", "'largest_site' is missing.* --largest-site: "), ("data", "--schema")],
)
def test_what_is_missing_is_named_as_it_is_typed(
    coordinator: SiteIdentity, identities: list[SiteIdentity], absent: str, sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        make({name: value for name, value in DRAFT.items() if name != absent}, coordinator, identities)


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


def test_joint_keys_are_recommended_from_four_senders_a_round_on(
    coordinator: SiteIdentity, identities: list[SiteIdentity]
) -> None:
    four = [*identities, SiteIdentity.generate("d")]
    advice = recommended_keys(make(DRAFT, coordinator, four))
    assert advice is not None
    assert "--keys joint" in advice
    assert recommended_keys(make(DRAFT, coordinator, identities)) is None, "three"
    for settled in (
        {"keys": "joint"},
        {"scores": "hidden"},
        {"method": "fedacs"},
        {"metrics": "sum"},
        {"participation": 0.5},
    ):
        assert recommended_keys(make(DRAFT | settled, coordinator, four)) is None
