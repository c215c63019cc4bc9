"""A study whose server learns no score: each site weighs its own update."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import Aggregate, CohortKey, Parameters
from sapefl_crypto.errors import FrameRejected
from secure_sapefl.config import Config
from secure_sapefl.engine.protection import Ckks, Plaintext, Protection
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.protocol.adders import encrypted_adder, plaintext_adder
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.study import Study

PLAN = Parameters.exact(max_clients=4)
STUDY = Study(name="s", sites=("a", "b", "c"), participation=1.0, seed=1, parameters=20, max_score=2.0, scores="hidden")
SCORES = {"a": 2.0, "b": 0.7, "c": 0.1}


@pytest.fixture(scope="module")
def protections() -> dict[str, Protection]:
    return {"plaintext": Plaintext(PLAN), "ckks": Ckks(PLAN, CohortKey.generate(PLAN), workers=0)}


def update_of(site: str) -> Vector:
    return np.random.default_rng(ord(site)).uniform(-1, 1, 20).astype(np.float32)


def upload(site: str, protection: Protection, study: Study = STUDY) -> RoundUpload:
    answer = Answer(site=site, similarity_score=SCORES[site], update=update_of(site), theta_personal=None)
    return protect(answer, protection.codec(), study, 0)


def mean_of(protection: Protection, study: Study = STUDY) -> Vector | None:
    server = Server(study, protection.adders(study), {})
    server.open_round(0)
    assert all(server.accept(upload(site, protection, study)) for site in SCORES)
    outcome = server.close_round()
    assert outcome.refusals == ()
    assert outcome.aggregate is not None
    return protection.codec().decrypt(outcome.aggregate, study="s", round_index=0)


def test_encrypted_and_plaintext_sums_are_the_same_bits(protections: dict[str, Protection]) -> None:
    np.testing.assert_array_equal(mean_of(protections["ckks"]), mean_of(protections["plaintext"]))


@pytest.mark.parametrize("name", ["plaintext", "ckks"])
def test_the_mean_is_eq_12_and_that_of_open_scores(name: str, protections: dict[str, Protection]) -> None:
    exact = np.average([update_of(site) for site in SCORES], axis=0, weights=list(SCORES.values()))
    hidden, opened = mean_of(protections[name]), mean_of(protections[name], replace(STUDY, scores="open"))
    np.testing.assert_allclose(hidden, exact, atol=1e-5)  # the grid, over a mean share of 0.47
    np.testing.assert_allclose(opened, exact, atol=1e-3)  # whole-number weights besides


def test_messages_and_claim_tell_the_server_no_score(protections: dict[str, Protection]) -> None:
    made = {site: upload(site, protections["ckks"]) for site in SCORES}
    assert {one.similarity_score for one in made.values()} == {0.0}
    assert len({one.size for one in made.values()}) == 1
    adder = encrypted_adder(PLAN, STUDY, 0)
    for site, one in made.items():
        adder.add(one.update or b"", one.similarity_score, sender=site)
    total = Aggregate.from_bytes(adder.finish().to_bytes())
    assert total.weights == dict.fromkeys(SCORES, 1)


@pytest.mark.parametrize("name", ["plaintext", "ckks"])
def test_a_score_in_the_clear_is_refused(name: str, protections: dict[str, Protection]) -> None:
    server = Server(STUDY, protections[name].adders(STUDY), {})
    server.open_round(0)
    assert not server.accept(replace(upload("a", protections[name]), similarity_score=0.5))
    assert "hides scores" in server.close_round().refusals[0].reason


@pytest.mark.parametrize("name", ["plaintext", "ckks"])
@pytest.mark.parametrize("made_for", ["open", "hidden"])
def test_frames_of_the_other_kind_are_refused(name: str, made_for: Any, protections: dict[str, Protection]) -> None:
    other = "hidden" if made_for == "open" else "open"
    frame = upload("a", protections[name], replace(STUDY, scores=made_for)).update
    make = plaintext_adder if name == "plaintext" else encrypted_adder
    with pytest.raises(FrameRejected):
        make(PLAN, replace(STUDY, scores=other), 0).add(frame or b"", 1.0, sender="a")


@pytest.mark.parametrize("name", ["plaintext", "ckks"])
def test_scores_of_zero_move_nothing(
    name: str, protections: dict[str, Protection], monkeypatch: pytest.MonkeyPatch
) -> None:
    for site in SCORES:
        monkeypatch.setitem(SCORES, site, 0.0)
    assert mean_of(protections[name]) is None


@pytest.fixture(scope="module")
def tiny() -> Callable[..., Config]:
    values = {"clients": 4, "rounds": 3, "local_epochs": 1, "workers": 0, "data_options": {"rows": 240, "classes": 3}}
    return lambda **changes: Config(**(values | {"scores": "hidden", "kappa": 5.0} | changes))


@pytest.mark.parametrize("method", ["sapefl", "fedavg", "ditto", "fedacs"])
def test_a_simulated_run_and_its_plaintext_twin_agree_bit_for_bit(tiny: Callable[..., Config], method: str) -> None:
    ours, theirs = (simulate(tiny(method=method, protection=name)) for name in ("ckks", "plaintext"))
    assert ours.summary()["refused"] == []
    for one, other in zip(ours.rounds, theirs.rounds, strict=True):
        assert (one.personal, one.everywhere, one.similarity) == (other.personal, other.everywhere, other.similarity)
        assert {weight for _, weight in one.weights} <= {1}


def test_encrypting_in_another_process_changes_nothing(tiny: Callable[..., Config]) -> None:
    alone, beside = (simulate(tiny(workers=workers, rounds=2)) for workers in (0, 1))
    assert alone.accuracy == beside.accuracy


def test_nobody_similar_is_a_round_that_changed_nothing(tiny: Callable[..., Config]) -> None:
    """One site is nobody's peer: its score is 0."""
    result = simulate(tiny(clients=1, participation=1.0, rounds=2, protection="plaintext"))
    assert [(one.changed, one.weights) for one in result.rounds] == [(False, ())] * 2
