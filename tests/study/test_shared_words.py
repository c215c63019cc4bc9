"""What `study new` writes for shared noise, and how it is said."""

from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.study.new import new_study
from secure_sapefl.study.shared_words import both_numbers
from secure_sapefl.study.terms import StudyTerms


@pytest.fixture
def draft(study_values: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in study_values.items() if key not in ("coordinator", "roster")}
    shared = {"method": "fedavg", "dp_noise": "shared", "rounds": 1000, "privacy": {"epsilon": 2, "delta": 1e-5}}
    return {**kept, **shared}


def test_the_calibrator_s_choices_stand_in_the_file_that_sites_approve(
    draft: dict[str, Any], coordinator: SiteIdentity, identities: list[SiteIdentity]
) -> None:
    study = new_study(draft, coordinator.public, [site.public for site in identities])
    assert study.rounds == 400
    assert (study.dp_contributors, study.min_cohort) == (3, 3)
    assert study.dp_rate is not None
    assert study.dp_lr is not None
    terms = StudyTerms.from_file(study)
    assert terms.shared is not None
    assert terms.blueprint.config.rounds == study.rounds
    assert (terms.shared.plan.rate, terms.shared.plan.lr) == (study.dp_rate, study.dp_lr)
    assert terms.blueprint.study.least_contributors == 3
    assert terms.plan() == terms.shared.plan.sentences()
    assert both_numbers(terms.shared.plan).startswith("epsilon_shared at most 2 for every record of this site")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"privacy": None}, "budget"),
        ({"method": "lcfed"}, "LCFed cannot use shared noise"),
        ({"scores": "hidden"}, "no score to hide"),
        ({"dp_colluders": 2}, "--dp-colluders"),
    ],
)
def test_a_study_that_cannot_share_its_noise_is_not_made(
    draft: dict[str, Any],
    coordinator: SiteIdentity,
    identities: list[SiteIdentity],
    changes: dict[str, Any],
    words: str,
) -> None:
    values = {key: value for key, value in {**draft, **changes}.items() if value is not None}
    with pytest.raises(SapeflError, match=words) as refused:
        new_study(values, coordinator.public, [site.public for site in identities])
    assert isinstance(refused.value, BadInput)
