"""A study with shared noise against a policy: refused unless its owner wrote two lines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.privacy.events import Event
from secure_sapefl.site.policy import TEMPLATE, Line, Policy
from secure_sapefl.site.review import judge
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.sheet import data_protection_note, facts, to_json
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
ACCEPTING = {"max_epsilon_shared": 2.0, "min_honest_sites": 1}


@pytest.fixture
def shared(make_study: MakeStudy) -> Callable[..., StudyTerms]:
    """Three sites, of whom one is curious and one colludes: h = 1 is all there is."""

    def make(**changes: Any) -> StudyTerms:
        private = {"min_cohort": 3, "privacy": {"epsilon": 2, "delta": 1e-5}}
        fields = {"method": "fedavg", "dp_noise": "shared", **private}
        return StudyTerms.from_file(make_study(**(fields | changes)))

    return make


@pytest.fixture
def policy(tmp_path: Path) -> Callable[..., Policy]:
    def make(**changes: Any) -> Policy:
        (tmp_path / "policy.toml").write_text(TEMPLATE)
        return Policy.load(tmp_path / "policy.toml").model_copy(update=changes)

    return make


def conflicts(terms: StudyTerms, policy: Policy, events: tuple[Event, ...] = ()) -> list[str]:
    return [line.topic for line in judge(terms, policy, 80, events) if line.verdict == "conflict"]


def line(terms: StudyTerms, policy: Policy, topic: str) -> Line:
    return next(one for one in judge(terms, policy, 80, ()) if one.topic == topic)


def test_an_unchanged_policy_refuses_shared_noise(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy]
) -> None:
    """However small both numbers are."""
    found = line(shared(privacy={"epsilon": 0.1, "delta": 1e-5}), policy(), "epsilon of this study")
    assert found.verdict == "conflict"
    assert "not both set" in found.policy


@pytest.mark.parametrize("missing", ["max_epsilon_shared", "min_honest_sites"])
def test_one_line_alone_accepts_nothing(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy], missing: str
) -> None:
    half = policy(**{**ACCEPTING, missing: None})
    assert half.least_honest is None
    assert "epsilon of this study" in conflicts(shared(), half)


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"max_epsilon_shared": 1.9}, False),
        ({"min_honest_sites": 2}, False),
        ({"max_epsilon_per_study": 0.1}, True),
    ],
)
def test_both_lines_decide(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy], changes: dict[str, float], fits: bool
) -> None:
    judged = conflicts(shared(), policy(**(ACCEPTING | changes)))
    assert ("epsilon of this study" not in judged) == fits


def test_an_owner_reads_both_numbers_with_m_and_t(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy]
) -> None:
    terms = shared()
    assert terms.shared is not None
    plan = terms.shared.plan
    for text in (
        line(terms, policy(), "epsilon of this study").says,
        facts(terms)["privacy"],
        data_protection_note(terms),
    ):
        assert "epsilon_shared at most 2" in text
        assert f"epsilon_max at most {plan.epsilon_max:.3g}" in text
        assert "sums of 3 sites or more, of whom 1 may collude" in text
    assert "share of the noise" in line(terms, policy(), "shared noise").says
    assert to_json(terms)["plan"] == list(plan.sentences())
    assert "A share of the noise added" in line(terms, policy(), "leaves: update").says


@pytest.mark.parametrize("unit", ["record", "site"])
def test_what_holds_for_a_site_is_not_said_of_its_records(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy], unit: str
) -> None:
    said = [one.says for one in judge(shared(dp_unit=unit), policy(), 80, ()) if one.topic == "unit"]
    assert len(said) == (unit == "site")
    assert all("makes another site of it, and costs what it costs to replace one" in says for says in said)


def test_over_all_studies_shared_noise_counts_where_the_owner_trusts_in_it(
    shared: Callable[..., StudyTerms], policy: Callable[..., Policy]
) -> None:
    """With h = 2 the two numbers differ; a lifetime between them is enough for an owner who trusts, and no other."""
    terms = shared(dp_colluders=0)
    assert terms.shared is not None
    plan = terms.shared.plan
    assert plan.epsilon_shared < plan.epsilon_max
    between = (plan.epsilon_shared + plan.epsilon_max) / 2
    trusting = policy(**ACCEPTING, max_epsilon_lifetime=between)
    assert "epsilon over all studies" not in conflicts(terms, trusting)
    careful = policy(**{**ACCEPTING, "min_honest_sites": 3}, max_epsilon_lifetime=between)
    assert "epsilon over all studies" in conflicts(terms, careful)


def test_a_small_site_may_take_part(shared: Callable[..., StudyTerms], policy: Callable[..., Policy]) -> None:
    """There is no batch to fill: few records bring little, and their noise is welcome."""
    assert "records" not in conflicts(shared(batch_size=500), policy(**ACCEPTING))
