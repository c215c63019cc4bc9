"""A study against a policy: every line that does not fit is a conflict, and nothing else is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, PolicyConflict
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.judgement import judge
from secure_sapefl.site.policy import TEMPLATE, Line, Policy
from secure_sapefl.site.review import review_site
from secure_sapefl.study.cost import cost_of
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.plain_words import leaving
from secure_sapefl.study.sheet import data_protection_note
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(TEMPLATE)
    return Policy.load(path)


def event(**changed: Any) -> Event:
    values = {"mechanism": "dp-sgd", "release": "update", "noise_multiplier": 1.0, "sample_rate": 0.2, "steps": 50}
    return Event(**{**values, "round_index": 0, "study": "earlier", **changed})  # type: ignore[arg-type]


def conflicts(lines: tuple[Line, ...]) -> list[str]:
    return [line.topic for line in lines if line.verdict == "conflict"]


def judged(study: StudyFile, policy: Policy, rows: int = 80, events: tuple[Event, ...] = ()) -> list[str]:
    return conflicts(judge(StudyTerms.from_file(study), policy, rows, events))


def test_a_modest_study_fits_the_template(study: StudyFile, policy: Policy) -> None:
    assert judged(study, policy) == []


@pytest.mark.parametrize(
    ("study_change", "policy_change", "topics"),
    [
        ({}, {"methods": ("fedavg",)}, ["method"]),
        ({}, {"peers_may_receive_model": False}, ["leaves: personal model"]),
        ({"method": "fedavg"}, {"peers_may_receive_model": False}, []),
        ({"privacy": None}, {}, ["differential privacy"]),
        ({"privacy": None}, {"without_privacy": True}, []),
        ({}, {"max_epsilon_per_study": 3.9}, ["epsilon of this study"]),
        ({}, {"max_delta_per_study": 1e-6}, ["delta of this study"]),
        (
            {"privacy": {"epsilon": 4, "delta": 0.02}},
            {"max_delta_per_study": 0.5, "max_delta_lifetime": 0.5},
            ["delta of this study"],
        ),
        ({"privacy": {**PRIVATE, "noise": "repeatable"}}, {}, ["noise"]),
        ({"privacy": {**PRIVATE, "noise": "repeatable"}}, {"repeatable_noise": True}, []),
        ({}, {"max_epsilon_lifetime": 3.0}, ["epsilon over all studies"]),
        ({}, {"min_cohort": 4}, ["cohort"]),
        ({}, {"min_effective_cohort": 3.5}, ["mixing"]),
        ({}, {"max_share": 0.3}, ["largest share"]),
        ({"participation": 0.3}, {}, ["cohort", "mixing", "largest share", "peers"]),
        ({}, {"min_peers": 3}, ["peers"]),
        ({"peers_per_client": 1}, {}, ["peers"]),
        ({"peers_per_client": 1}, {"min_peers": 1}, []),
        ({"method": "fedavg"}, {"min_peers": 3}, []),
        ({"batch_size": 81}, {}, ["records"]),
    ],
)
def test_each_rule_finds_its_own_conflict(
    make_study: MakeStudy,
    policy: Policy,
    study_change: dict[str, Any],
    policy_change: dict[str, Any],
    topics: list[str],
) -> None:
    values = {"privacy": PRIVATE, "min_cohort": 1, **study_change}
    assert judged(make_study(**values), policy.model_copy(update=policy_change)) == topics


def test_a_careless_delta_is_said_to_the_owner(make_study: MakeStudy, policy: Policy) -> None:
    study = make_study(privacy={"epsilon": 4, "delta": 0.5})
    (line,) = [
        line for line in judge(StudyTerms.from_file(study), policy, 80, ()) if line.topic == "delta of this study"
    ]
    assert line.verdict == "conflict"
    assert "delta = 0.5 is not below 1 / n at 1 of 1 sites, which have up to n = 80 records" in line.says


def test_what_was_spent_before_counts(study: StudyFile, policy: Policy) -> None:
    assert judged(study, policy, events=(event(steps=5),)) == []
    assert judged(study, policy, events=(event(steps=5_000),)) == ["epsilon over all studies"]


def test_this_studys_own_spending_is_not_counted_twice(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study).privacy()
    assert terms is not None
    fresh = cost_of(terms, 80, (), 1e-5)
    begun = cost_of(terms, 80, [event(study=study.wire_name, steps=500)], 1e-5)
    assert (fresh.spent_before, fresh.studies_before) == (0, 0)
    assert begun == fresh
    assert 0.98 * 4 < fresh.after <= 4


def test_everything_a_message_holds_is_told(make_study: MakeStudy) -> None:
    parts = {part.field: part for part in leaving(StudyTerms.from_file(make_study(privacy=PRIVATE)))}
    assert list(parts) == ["participation", "update", "similarity_score", "theta_personal"]
    assert all(parts[name].noised for name in ("update", "similarity_score", "theta_personal"))
    assert parts["theta_personal"].size == 4 * 9026
    assert parts["update"].size == 3 * (4096 * 60 // 8 + 64)
    plain = {part.field: part.noised for part in leaving(StudyTerms.from_file(make_study(method="fedavg")))}
    assert plain == {"participation": False, "update": False, "similarity_score": False}


def test_test_results_stay(study: StudyFile, policy: Policy) -> None:
    (line,) = (one for one in judge(StudyTerms.from_file(study), policy, 80, ()) if one.topic == "test results")
    assert (line.says, line.verdict, line.policy) == ("stay at the site", "ok", "metrics_may_leave = false")
    reporting = StudyTerms.from_file(study.model_copy(update={"metrics": "exact"}))  # as a later release might
    assert judged(reporting.file, policy) == ["test results"]
    assert judged(reporting.file, policy.model_copy(update={"metrics_may_leave": True})) == []


def test_a_study_that_only_relays_sends_no_update(make_study: MakeStudy) -> None:
    study = make_study(method="fedacs")
    terms = StudyTerms.from_file(study)
    if not terms.blueprint.study.relay_only:
        pytest.skip("fedacs is no longer a method that only relays")
    assert [part.field for part in leaving(terms)] == ["participation", "theta_personal"]


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


def test_means_taken_from_records_are_told(make_study: MakeStudy, policy: Policy) -> None:
    schema = {"label": "y", "classes": ["n", "p"], "features": [{"name": "x"}], "scaling": "site"}
    lines = judge(StudyTerms.from_file(make_study(privacy=PRIVATE, data=schema)), policy, 80, ())
    assert [line.topic for line in lines][-1] == "preparation"


def test_hidden_scores_are_told_as_such(make_study: MakeStudy, policy: Policy) -> None:
    def words(scores: str) -> tuple[str, str, str]:
        terms = StudyTerms.from_file(make_study(scores=scores))
        (score,) = (part for part in leaving(terms) if part.field == "similarity_score")
        (share,) = (one for one in judge(terms, policy, 80, ()) if one.topic == "largest share")
        return score.server, share.says, data_protection_note(terms)

    (read, share, note), (unread, bounded, other) = words("open"), words("hidden")
    assert read == "reads it, one number a round"
    assert "cannot read it" in unread
    assert "hidden" in bounded
    assert "hidden" not in share
    assert "their scores are known to the server" in note
    assert "scores are known" not in other
    assert "lies about it" in other


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


def test_both_epsilons_and_what_they_are_about_are_told(study: StudyFile, policy: Policy) -> None:
    lines = {line.topic: line.says for line in judge(StudyTerms.from_file(study), policy, 80, ())}
    assert lines["neighbours"] == ADJACENCY
    said = lines["epsilon of this study"]
    replaced = re.search(r"at most 4 for every record .* and at most ([\d.]+) for one replaced", said)
    assert replaced is not None
    assert 6 < float(replaced[1]) < 10
