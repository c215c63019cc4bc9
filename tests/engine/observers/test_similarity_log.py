"""The similarities of a round as the log and the heat map show them, by hand."""

import pytest
import torch

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.engine.events import RoundBegun, SitesTrained
from secure_sapefl.engine.observers import similarity_log
from secure_sapefl.engine.observers.similarity_log import SimilarityLog


def trained(site: str, peers: tuple[str, ...], score: float, similarity: list[float], passed: float) -> SitesTrained:
    statistics = {
        "similarity": torch.tensor([similarity]),
        "peers_passed": torch.tensor([passed]),
        "peers_received": torch.tensor([float(len(peers))]),
    }
    contribution = Contribution(state={}, score=torch.tensor([score]), statistics=statistics)
    return SitesTrained(round_index=0, sites=(site,), peers=peers, contribution=contribution)


def test_a_round_by_hand_and_the_next_one_begins_empty() -> None:
    log = SimilarityLog(("a", "b", "c"))
    log.hear(trained("a", ("b", "c"), 1.5, [0.25, 0.75], 1.0))
    log.hear(trained("c", ("a",), 0.5, [0.125], 0.0))
    assert log.to_json() == [[None, 0.25, 0.75], [None] * 3, [0.125, None, None]]
    assert log.summary() == {
        "score_min": 0.5,
        "score_mean": 1.0,
        "score_max": 1.5,
        "peers_received": 1.5,
        "peers_passed": 0.5,
        "sites_without_peer": 1.0,
    }
    log.hear(RoundBegun(round_index=1, sites=("a",)))
    assert (log.to_json(), log.summary()) == ([], {})


def test_a_method_that_compares_nobody_leaves_nothing_and_a_diverged_score_does_not_count() -> None:
    log = SimilarityLog(("a", "b"))
    score = torch.tensor([2.0, float("nan")])
    contribution = Contribution(state={}, score=score)
    log.hear(SitesTrained(round_index=0, sites=("a", "b"), peers=(), contribution=contribution))
    assert log.to_json() == []
    assert log.summary() == {"score_min": 2.0, "score_mean": 2.0, "score_max": 2.0}


def test_the_matrix_of_very_many_sites_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity_log, "MOST_SITES", 2)
    log = SimilarityLog(("a", "b", "c"))
    log.hear(trained("a", ("b", "c"), 1.5, [0.25, 0.75], 1.0))
    assert (log.to_json(), log.matrix.size) == ([], 0)
    assert log.summary()["peers_received"] == 2.0
