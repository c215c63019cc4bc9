"""A study against a policy: every line that does not fit is a conflict, and nothing else is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.privacy.events import Event
from secure_sapefl.site.judgement import judge, judge_count
from secure_sapefl.site.policy import TEMPLATE, Line, Policy
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.plain_words import leaving
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}


def event(**changed: Any) -> Event:
    values = {"mechanism": "dp-sgd", "release": "update", "noise_multiplier": 1.0, "sample_rate": 0.2, "steps": 50}
    return Event(**{**values, "round_index": 0, "study": "earlier", **changed})  # type: ignore[arg-type]


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(TEMPLATE)
    return Policy.load(path)


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


def test_test_results_stay_or_leave_as_a_sum_the_owner_allows(study: StudyFile, policy: Policy) -> None:
    (line,) = (one for one in judge(StudyTerms.from_file(study), policy, 80, ()) if one.topic == "test results")
    assert line.says == "stay at the site"
    assert (line.verdict, line.policy) == ("ok", "metrics_may_leave = false")
    summed = study.model_copy(update={"metrics": "sum"})
    assert judged(summed, policy) == ["test results"]
    for allowed in ("sum", True):
        may = policy.model_copy(update={"metrics_may_leave": allowed})
        assert judged(summed, may) == []
    (line,) = (one for one in judge(StudyTerms.from_file(summed), may, 80, ()) if one.topic == "test results")
    assert "encrypted, as a part of a sum over at least 4 sites: how many test records the common model" in line.says
    assert "its Brier score, with noise of deviation " in line.says
    assert "AUC and calibration error and all results of the own model stay" in line.says
    plain = StudyTerms.from_file(summed.model_copy(update={"privacy": None}))
    (line,) = (one for one in judge(plain, may, 80, ()) if one.topic == "test results")
    assert line.says.endswith("calibration_error. Sites open the sum and tell the server, which shows mean and spread")


def test_means_taken_from_records_are_told(make_study: MakeStudy, policy: Policy) -> None:
    schema = {"label": "y", "classes": ["n", "p"], "features": [{"name": "x"}], "scaling": "site"}
    lines = judge(StudyTerms.from_file(make_study(privacy=PRIVATE, data=schema)), policy, 80, ())
    assert [line.topic for line in lines][-1] == "preparation"


def test_hidden_scores_are_told_as_such(make_study: MakeStudy, policy: Policy) -> None:
    def words(scores: str) -> tuple[str, str]:
        terms = StudyTerms.from_file(make_study(scores=scores))
        (score,) = (part for part in leaving(terms) if part.field == "similarity_score")
        (share,) = (one for one in judge(terms, policy, 80, ()) if one.topic == "largest share")
        return score.server, share.says

    (read, share), (unread, bounded) = words("open"), words("hidden")
    assert read == "reads it, one number a round"
    assert "cannot read it" in unread
    assert "hidden" in bounded
    assert "hidden" not in share


def test_both_epsilons_and_what_they_are_about_are_told(study: StudyFile, policy: Policy) -> None:
    lines = {line.topic: line.says for line in judge(StudyTerms.from_file(study), policy, 80, ())}
    assert lines["neighbours"] == ADJACENCY
    said = lines["epsilon of this study"]
    replaced = re.search(r"at most 4 for every record .* and at most ([\d.]+) for one replaced", said)
    assert replaced is not None
    assert 6 < float(replaced[1]) < 10


def test_a_count_far_from_what_is_declared_is_a_conflict_only_where_it_was_declared(make_study: MakeStudy) -> None:
    by_name = make_study(privacy=PRIVATE, records={"a": 40})
    assert [judge_count(by_name, "a", counted).verdict for counted in (19, 20, 80, 81)] == [
        "conflict",
        "ok",
        "ok",
        "conflict",
    ]
    assert judge_count(by_name, "b", 10).verdict == "note"
