"""What an owner is shown before consent: the study, this site's own keys, data and ledger."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, PolicyConflict
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.review import review_site
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}


def event(**changed: Any) -> Event:
    values = {"mechanism": "dp-sgd", "release": "update", "noise_multiplier": 1.0, "sample_rate": 0.2, "steps": 50}
    return Event(**{**values, "round_index": 0, "study": "earlier", **changed})  # type: ignore[arg-type]


def test_a_site_reviews_with_its_own_data_and_ledger(home: SiteHome, study: StudyFile) -> None:
    terms = StudyTerms.from_file(study)
    review = review_site(home, terms)
    assert review.conflicts == ()
    review.require_no_conflict()
    assert [line.verdict for line in review.lines[:3]] == ["ok", "note", "note"]
    assert study.coordinator_keys.fingerprint in review.lines[1].says
    with FileStore(home.privacy_path) as store:
        store.load()
        store.append([event(steps=5_000)])
    spent = review_site(home, terms)
    assert [line.topic for line in spent.conflicts] == ["epsilon over all studies"]
    with pytest.raises(PolicyConflict, match="asks for more than the policy of 'a' allows, in 1 points") as caught:
        spent.require_no_conflict()
    assert caught.value.exit_code == 3
    assert spent.to_json()["lines"][0] == {
        "topic": "roster",
        "says": "sites: a, b, c",
        "verdict": "ok",
        "policy": f"this site is a, key {home.public.fingerprint}",
    }


def test_a_roster_with_another_key_under_this_sites_name(
    home: SiteHome, make_study: MakeStudy, identities: list[SiteIdentity]
) -> None:
    impostor = SiteIdentity.generate("a").public.to_text()
    study = make_study(roster=[impostor, *(site.public.to_text() for site in identities[1:])], privacy=PRIVATE)
    assert [line.topic for line in review_site(home, StudyTerms.from_file(study)).conflicts] == ["roster"]


def test_data_that_does_not_fit_is_an_error_not_a_conflict(home: SiteHome, study: StudyFile) -> None:
    home.data_path.write_text(home.data_path.read_text().replace("chol", "lohc"))
    with pytest.raises(BadInput, match="no column 'chol'"):
        review_site(home, StudyTerms.from_file(study))


@pytest.mark.parametrize(
    ("records", "largest", "verdict"),
    [
        ({"a": 90}, 100, "ok"),
        ({}, 100, "ok"),
        ({"a": 30}, 100, "conflict"),
        ({"a": 400}, 400, "conflict"),
        ({}, 400, "note"),
    ],
)
def test_what_is_declared_is_held_against_the_count_on_the_owners_screen(
    home: SiteHome, make_study: MakeStudy, records: dict[str, int], largest: int, verdict: str
) -> None:
    study = make_study(privacy=PRIVATE, records=records, largest_site=largest)
    lines = {line.topic: line for line in review_site(home, StudyTerms.from_file(study)).lines}
    counted = len(load_site(home.data_path, study, "a").train)
    assert lines["records counted"].verdict == verdict
    assert lines["records counted"].says.startswith(
        f"{counted:,} to train on in this file, {study.declared('a'):,} decl"
    )
    assert str(counted) not in lines["records"].says
