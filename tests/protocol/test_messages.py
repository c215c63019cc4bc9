"""Messages are frozen values that count their own bytes."""

from dataclasses import FrozenInstanceError

import pytest

from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload, SealedModel

MODEL = SealedModel(sender="b", round_index=2, blob=b"12345")


def test_sizes_by_hand() -> None:
    assert Invitation(site="a", round_index=3, peers=("b", "c"), models=(MODEL, MODEL)).size == 10
    assert Invitation(site="a", round_index=0, peers=("b",), models=()).size == 0
    full = RoundUpload(site="a", round_index=3, similarity_score=1.0, update=b"123", theta_personal=MODEL)
    assert full.size == 8 + 3 + 5
    assert RoundUpload(site="a", round_index=3, similarity_score=1.0, update=None, theta_personal=None).size == 8
    assert RoundOutcome(round_index=3, aggregate=b"1234", weights=(("a", 7),), refusals=()).size == 4
    assert RoundOutcome(round_index=3, aggregate=None, weights=(), refusals=()).size == 0


def test_nothing_changes_on_the_way() -> None:
    with pytest.raises(FrozenInstanceError):
        MODEL.blob = b"other"  # type: ignore[misc]
