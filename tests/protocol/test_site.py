"""The site's half of a round: whom it believes, when it withdraws, what it sends."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import Invitation, SealedModel
from secure_sapefl.protocol.site import open_peers, run_round

Bench = Any  # of conftest.py
INITIAL = torch.arange(20.0)


def model_of(bench: Bench, sender: str, vector: Any) -> SealedModel:
    blob = bench.codec.seal(np.asarray(vector, np.float32), study="s", round_index=2, sender=sender)
    return SealedModel(sender=sender, round_index=2, blob=blob)


def invitation(site: str, *peers: str, models: tuple[SealedModel, ...] = ()) -> Invitation:
    return Invitation(site=site, round_index=3, peers=peers, models=models)


def test_each_site_is_given_its_own_peers_and_every_model_is_opened_once(bench: Bench) -> None:
    b, c = (model_of(bench, name, np.full(20, value)) for name, value in (("b", 2), ("c", 3)))
    group = [invitation("a", "b", "c", models=(b, c)), invitation("b", "c", models=(c,))]
    names, peers, refusals = open_peers(group, INITIAL, bench.codec, "s")
    assert names == ("b", "c")
    assert peers.models.tolist() == [[2.0] * 20, [3.0] * 20]
    assert peers.received.tolist() == [[True, True], [False, True]]
    assert refusals == ()


def test_a_peer_without_a_model_stands_where_everybody_started(bench: Bench) -> None:
    names, peers, _ = open_peers([invitation("a", "b")], INITIAL, bench.codec, "s")
    assert names == ("b",)
    torch.testing.assert_close(peers.models, INITIAL[None])
    assert peers.received.tolist() == [[True]]


def test_a_site_may_have_no_peer_at_all(bench: Bench) -> None:
    names, peers, _ = open_peers([invitation("a")], INITIAL, bench.codec, "s")
    assert names == ()
    assert not peers.received.any()


def bad_models(bench: Bench) -> dict[str, SealedModel]:
    good = model_of(bench, "b", np.ones(20))
    return {
        "garbage": replace(good, blob=b"garbage"),
        "empty": replace(good, blob=b""),
        "moved to another round": replace(good, round_index=1),
        "another site's": replace(model_of(bench, "c", np.ones(20)), sender="b"),
        "too short": model_of(bench, "b", np.ones(19)),
        "too long": model_of(bench, "b", np.ones(21)),
        "weights that answer with infinity": model_of(bench, "b", np.full(20, 3e38)),
    }


@pytest.mark.parametrize(
    "kind", ["garbage", "empty", "moved to another round", "another site's", "too short", "too long",
             "weights that answer with infinity"],
)  # fmt: skip
def test_a_bad_model_is_left_out_and_its_owner_named(bench: Bench, kind: str) -> None:
    """The server cannot check what it relays; without this, one site could end every other site's round."""
    bad, good = bad_models(bench)[kind], model_of(bench, "c", np.full(20, 3))
    names, peers, refusals = open_peers([invitation("a", "b", "c", models=(bad, good))], INITIAL, bench.codec, "s")
    assert names == ("b", "c")
    assert peers.received.tolist() == [[False, True]]
    assert torch.isfinite(peers.models).all()
    assert [refusal.site for refusal in refusals] == ["b"]


def algorithm(**parts: Tensor) -> Any:
    state = parts.pop("state", torch.zeros(3, 2))
    return SimpleNamespace(name="mine", site_round=lambda group, options: Contribution(state={"x": state}, **parts))


OPEN: Any = SimpleNamespace(private=None)
PRIVATE: Any = SimpleNamespace(private=object())


@pytest.mark.parametrize("where", ["state", "update", "score", "shared"])
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_a_site_whose_training_diverged_withdraws_alone(where: str, poison: float) -> None:
    parts = {"state": torch.ones(3, 2), "update": torch.ones(3, 4), "score": torch.ones(3), "shared": torch.ones(3, 4)}
    parts[where].view(3, -1)[1, -1] = poison
    result = run_round(algorithm(**parts), None, OPEN, ["a", "b", "c"])
    assert result.healthy.tolist() == [True, False, True]
    assert [refusal.site for refusal in result.refusals] == ["b"]
    assert [answer.site for answer in result.answers] == ["a", "c"]


def test_in_a_private_study_nobody_withdraws_because_of_what_stays_at_the_site() -> None:
    """It was trained without noise: one record could decide."""
    state = torch.tensor([[1.0], [math.nan], [1.0]])
    result = run_round(algorithm(state=state, update=torch.ones(3, 4)), None, PRIVATE, ["a", "b", "c"])
    assert [answer.site for answer in result.answers] == ["a", "b", "c"]
    assert result.refusals == ()
    assert result.healthy.tolist() == [True, False, True]


def test_a_method_that_sends_nothing_gives_no_answers() -> None:
    result = run_round(algorithm(), None, OPEN, ["a", "b", "c"])
    assert result.answers == ()
    assert result.healthy.all()


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"update": torch.ones(4)}, r"'mine' gave 'update' of shape \(4,\) for 3 sites.*check-method"),
        ({"score": torch.ones(1)}, r"'score' of shape \(1,\)"),
        ({"state": torch.ones(2, 3)}, r"'x' of shape \(2, 3\)"),
    ],
)
def test_a_method_that_has_no_row_for_a_site_is_named(parts: dict[str, Tensor], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        run_round(algorithm(**parts), None, OPEN, ["a", "b", "c"])


def test_a_round_gives_a_contribution() -> None:
    nothing: Any = SimpleNamespace(name="mine", site_round=lambda group, options: None)
    with pytest.raises(BadInput, match="'mine' gave NoneType, expected a Contribution"):
        run_round(nothing, None, OPEN, ["a", "b", "c"])
