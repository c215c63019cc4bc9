"""The study file: one identity, one signature, and nothing in it that is not covered by both."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import SiteIdentity
from secure_sapefl import __version__
from secure_sapefl.config import Config, Plan
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.study.file import (
    StudyFile,
    parse_study,
    read_signed,
    read_study,
    require_expected,
    signed_text,
)

MakeStudy = Callable[..., StudyFile]


def test_what_was_signed_comes_back(study: StudyFile, write_study: Callable[[StudyFile], Path]) -> None:
    found = read_study(write_study(study))
    assert found == study
    assert found.digest == study.digest
    assert found.sites == ("a", "b", "c")


def test_comments_and_layout_do_not_matter_every_value_does(
    study: StudyFile, coordinator: SiteIdentity, make_study: MakeStudy
) -> None:
    values = tomllib.loads(signed_text(study, coordinator))
    shuffled = dict(sorted(values.items(), reverse=True))
    assert parse_study(tomllib.loads("# hello\n" + tomli_w.dumps(shuffled)), "file").digest == study.digest
    others = [make_study(seed=1), make_study(name="heart2"), make_study(lr=0.051), make_study(largest_site=101)]
    assert len({one.digest for one in (study, *others)}) == 5


def test_the_name_on_the_wire_holds_name_and_digest(study: StudyFile) -> None:
    assert study.wire_name == f"heart:{study.digest}"
    assert re.fullmatch("[0-9a-f]{64}", study.digest)


def leaves(values: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(values, dict):
        return [leaf for key, value in values.items() for leaf in leaves(value, (*place, key))]
    if isinstance(values, list):
        return [leaf for key, value in enumerate(values) for leaf in leaves(value, (*place, key))]
    return [place]


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case _:
            return value + "x"


@settings(max_examples=60)
@given(data=st.data())
def test_no_value_can_be_changed_after_signing(data: st.DataObject, study_values: dict[str, Any]) -> None:
    coordinator = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(100, 164)) + b"coordinator")
    study = StudyFile.read({**study_values, "privacy": {"epsilon": 4, "delta": 1e-5}}, "the study")
    values = tomllib.loads(signed_text(study, coordinator))
    *path, last = data.draw(st.sampled_from(leaves(values)))
    inner = values
    for key in path:
        inner = inner[key]
    inner[last] = changed(inner[last])
    with pytest.raises(StudyRejected):
        parse_study(values, "file")


def test_a_value_cannot_be_removed_or_added(study: StudyFile, coordinator: SiteIdentity) -> None:
    values = tomllib.loads(signed_text(study, coordinator))
    for key in ("privacy", "rounds", "signature", "roster"):
        with pytest.raises(StudyRejected):
            parse_study({name: value for name, value in values.items() if name != key}, "file")
    with pytest.raises(StudyRejected, match="Did you mean 'rounds'"):
        parse_study({**values, "round": 3}, "file")


def test_somebody_elses_signature_does_not_count(study: StudyFile, identities: list[SiteIdentity]) -> None:
    with pytest.raises(StudyRejected, match="sign with the other one"):
        signed_text(study, identities[0])
    forger = SiteIdentity.generate("coordinator")
    theirs = tomllib.loads(signed_text(study.model_copy(update={"coordinator": forger.public.to_text()}), forger))
    with pytest.raises(StudyRejected, match="does not hold"):
        parse_study({**theirs, "coordinator": study.coordinator}, "file")


def test_a_changed_copy_has_another_digest(study: StudyFile) -> None:
    copy = study.model_copy(update={"seed": study.seed + 1})
    assert copy.digest != study.digest


def test_a_study_of_another_release_is_not_run(make_study: MakeStudy, write_study: Callable[[StudyFile], Path]) -> None:
    patch = ".".join((*__version__.split(".")[:2], "7"))
    assert read_study(write_study(make_study(package=patch))).package == patch
    with pytest.raises(StudyRejected, match=r"made for secure-sapefl 9\.0"):
        read_study(write_study(make_study(package="9.0.0")))
    assert read_signed(write_study(make_study(package="9.0.0"))).package == "9.0.0"


def test_the_signature_must_be_one(study: StudyFile, coordinator: SiteIdentity) -> None:
    values = tomllib.loads(signed_text(study, coordinator))
    for bad in ("not base64!", "", 7):
        with pytest.raises(StudyRejected):
            parse_study({**values, "signature": bad}, "file")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "../heart"}, "beginning with a letter"),
        ({"name": ""}, "name = ''"),
        ({"purpose": "a\nb"}, "one line"),
        ({"roster": []}, "roster"),
        ({"roster": ["sapefl-site-v1:a:zzz:0000-0000"]}, "roster"),
        ({"coordinator": "me"}, "not a site's public key"),
        ({"rounds": 0}, "rounds = 0"),
        ({"participation": 1.5}, "participation"),
        ({"lr": float("nan")}, "lr"),
        ({"min_cohort": 4}, "no round could ever count"),
        ({"protection": {"max_clients": 2}}, "planned for 2"),
        ({"protection": {}}, "max_clients"),
        ({"privacy": {"epsilon": 4}}, "delta"),
        ({"privacy": {"epsilon": 4, "delta": 2}}, "delta"),
        ({"metrics": "exact"}, "metrics = 'exact'"),
        (
            {"metrics": "sum", "privacy": {"epsilon": 4, "delta": 1e-5}, "dp_noise": "shared"},
            "with shared noise they stay",
        ),
        (
            {"metrics": "sum", "privacy": {"epsilon": 4, "delta": 1e-5}, "preparation": "site"},
            "one record moves the results of others: such results stay",
        ),
        ({"metrics": "sum", "privacy": None}, "sums over fewer show each the others'; this study has 3"),
        ({"metrics": "sum", "privacy": None, "keys": "joint"}, "with joint keys, leave out --metrics"),
        ({"data": {"kind": "audio"}}, "kind = 'audio'"),
        ({"data": 3}, "data"),
        ({"round_deadline": 0}, "round_deadline"),
    ],
)
def test_what_is_no_study_is_named(make_study: MakeStudy, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        make_study(**change)


def test_the_simulator_gets_the_very_same_study(make_study: MakeStudy) -> None:
    terms = {"epsilon": 3, "delta": 1e-6, "clip": 0.5, "score_fraction": 0.2, "noise": "repeatable"}
    study = make_study(privacy=terms, participation=0.6, peers_per_client=1, options={"influence": 0.25}, seed=7)
    assert study.config() == Config(
        dataset="study", method="sapefl", clients=3, rounds=2, participation=0.6, partition="natural", seed=7,
        local_epochs=1, protection="ckks", peers_per_client=1, dp_epsilon=3, dp_delta=1e-6, dp_clip=0.5,
        dp_score_fraction=0.2, options={"influence": 0.25},
        dp_public={"rows": {"a": 100, "b": 100, "c": 100}, "classes": ("no", "yes")},
    )  # fmt: skip
    assert make_study().config().dp_epsilon is None
    assert make_study(privacy={"epsilon": 3, "delta": 1e-6}).config().dp_secure_noise


def test_a_private_study_declares_how_many_records_its_sites_have(make_study: MakeStudy) -> None:
    private = {"privacy": {"epsilon": 3, "delta": 1e-6}}
    study = make_study(**private, records={"b": 40})
    assert [study.declared(site) for site in study.sites] == [100, 40, 100]
    assert study.config().dp_public.rows == {"a": 100, "b": 40, "c": 100}  # type: ignore[union-attr]
    assert study.digest != make_study(**private).digest
    for records, sentence in (
        ({"d": 4}, "'d' is not on the roster"),
        ({"a": 101}, "'a' declares 101 training records, more than largest_site = 100"),
        ({"a": 0}, "give 1 or more"),
    ):
        with pytest.raises(BadInput, match=sentence):
            make_study(**private, records=records)
    with pytest.raises(BadInput, match="records are declared in studies with a privacy budget"):
        make_study(records={"b": 40})


def test_everything_a_study_has_in_common_with_a_simulation_reaches_it(make_study: MakeStudy) -> None:
    study = make_study(scores="hidden", rounds=3, lr=0.1)
    assert {name: getattr(study.config(), name) for name in Plan.model_fields} == {
        name: getattr(study, name) for name in Plan.model_fields
    }


def test_a_study_of_the_first_release_keeps_its_digest(make_study: MakeStudy) -> None:
    """It did not say how scores travel: they were open."""
    assert b"scores" not in make_study().canonical
    assert make_study(scores="open").digest == make_study().digest
    assert make_study(scores="hidden").digest != make_study().digest


def test_a_site_has_its_place(study: StudyFile) -> None:
    assert [study.index(name) for name in "abc"] == [0, 1, 2]
    with pytest.raises(StudyRejected, match="'d' is not on the roster of 'heart': a, b, c"):
        study.index("d")


def test_what_somebody_was_told_of_is_required(study: StudyFile) -> None:
    require_expected(study, fingerprint=study.coordinator_keys.fingerprint.upper(), digest=study.digest[:8])
    with pytest.raises(StudyRejected, match="over a channel you trust"):
        require_expected(study, fingerprint="0000-0000")
    with pytest.raises(StudyRejected, match="or another version"):
        require_expected(study, digest="ffff0000ffff")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name = ", b""])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(BadInput):
        read_study(tmp_path / "study.toml")
    with pytest.raises(BadInput, match="No such file"):
        read_study(tmp_path / "none.toml")


FEATURES = [{"name": "age", "low": 0, "high": 120}]


def test_the_schema_says_what_is_learned(make_study: MakeStudy) -> None:
    stay = {"label": "stay", "target": {"low": 0, "high": 60}, "features": FEATURES}
    symptoms = {"label": "symptoms", "labels": ["cough", "fever"], "features": FEATURES}
    assert make_study(data=stay, task="regression").data.label_names == ("stay",)
    assert make_study(data=symptoms).data.label_is.kind == "yes-no"
    with pytest.raises(BadInput, match="labels of the schema are for regression"):
        make_study(data=stay, task="multilabel")
    with pytest.raises(BadInput, match="low and high of its target"):
        make_study(data=stay | {"target": {}})


def test_shared_noise_needs_as_many_as_it_is_planned_for_before_a_round_counts(make_study: MakeStudy) -> None:
    """A round that closes with fewer is paid for by everybody in it, and opened by nobody."""
    plan = {"dp_noise": "shared", "dp_contributors": 3, "dp_colluders": 0, "privacy": {"epsilon": 4, "delta": 1e-4}}
    with pytest.raises(BadInput, match=r"min_cohort = 2, and shared noise is planned for 3 contributors"):
        make_study(**plan, min_cohort=2)
    assert make_study(**plan, min_cohort=3).min_cohort == 3


def test_persons_are_protected_where_the_schema_knows_them(make_study: MakeStudy) -> None:
    plan = {
        "dp_noise": "shared",
        "dp_unit": "person",
        "dp_colluders": 0,
        "min_cohort": 3,
        "privacy": {"epsilon": 4, "delta": 1e-4},
    }
    with pytest.raises(BadInput, match="says whose a record is"):
        make_study(**plan)
    data = {**make_study().data.model_dump(mode="json", exclude_none=True), "person": "patient"}
    made = make_study(**plan, data=data, records={"a": 40}, persons={"a": 20})
    assert [made.declared_units(site) for site in made.sites] == [20, made.largest_site, made.largest_site]
    assert made.config().dp_public is not None
    assert made.config().dp_public.persons == {site: made.declared_units(site) for site in made.sites}
    with pytest.raises(BadInput, match="not on the roster"):
        make_study(**plan, data=data, persons={"elsewhere": 20})
