"""The terms of a study follow from its configuration and a few public numbers."""

import pytest

from secure_sapefl.algorithms.registry import configured
from secure_sapefl.config import Config
from secure_sapefl.protocol.blueprint import Blueprint

PARAMETERS = 4 * 128 + 128 + 128 * 64 + 64 + 64 * 3 + 3  # the small network on 4 features and 3 classes


def blueprint(method: str, **settings: object) -> Blueprint:
    config = Config(method=method, participation=0.5, seed=9, **settings)
    return Blueprint.drawn_up(
        config, *configured(method, {}), name="s", shape=(4,), classes=3, sites="abcde", largest_site=70
    )


def test_a_study_by_hand() -> None:
    study = blueprint("fedavg", peers_per_client=2, scores="hidden").study
    assert (study.name, study.sites, study.seed) == ("s", tuple("abcde"), 9)
    assert (study.participation, study.peers_per_client, study.scores) == (0.5, 2, "hidden")
    assert study.parameters == PARAMETERS
    assert study.max_score == 70  # rows weigh an update


@pytest.mark.parametrize(
    ("method", "parameters", "relay_only", "peers_from"),
    [
        ("sapefl", PARAMETERS, False, "cohort"),
        ("fedas", PARAMETERS - (64 * 3 + 3), False, "cohort"),  # heads stay at home
        ("fedacs", PARAMETERS, True, "everyone"),
    ],
)
def test_the_method_says_what_is_sent_and_to_whom(
    method: str, parameters: int, relay_only: bool, peers_from: str
) -> None:
    made = blueprint(method)
    assert made.study.parameters == parameters
    assert (made.study.relay_only, made.study.peers_from) == (relay_only, peers_from)
    assert made.model.parameters == PARAMETERS


def test_a_score_is_bounded_by_the_peers_a_cohort_of_three_can_have() -> None:
    assert blueprint("sapefl").study.max_score > blueprint("sapefl", peers_per_client=1).study.max_score
