"""What a message is about is said in 65 bytes, and a difference is a sentence."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto import Parameters, ValueRejected
from sapefl_crypto.occasion import OCCASION_BYTES, Kind, Occasion


@pytest.fixture
def occasion(params: Parameters) -> Occasion:
    return Occasion.bound_to(params, Kind.WEIGHTED, study="s", round_index=3, length=10)


def test_occasions_start_at_round_zero_and_one_value(params: Parameters) -> None:
    for wrong in ({"round_index": -1, "length": 1}, {"round_index": 0, "length": 0}):
        with pytest.raises(ValueRejected):
            Occasion.bound_to(params, Kind.WEIGHTED, study="s", **wrong)


def test_the_bytes_are_where_the_table_says(params: Parameters, occasion: Occasion) -> None:
    written = occasion.to_bytes()
    assert len(written) == OCCASION_BYTES == 65
    assert written[0] == Kind.WEIGHTED
    assert written[1:33] == hashlib.sha256(b"s").digest()
    assert written[33:49] == params.digest
    assert [int.from_bytes(written[at : at + 8], "big") for at in (49, 57)] == [occasion.round_index, occasion.length]
    assert Occasion.from_bytes(written) == occasion
    with pytest.raises(ValueError, match="3 is not a valid Kind"):
        Occasion.from_bytes(b"\x03" + written[1:])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"study_digest": bytes(32)}, "another study"),
        ({"round_index": 9}, "made for round 9, not"),
        ({"params_digest": bytes(16)}, "other parameters"),
        ({"kind": Kind.HIDDEN}, "a HIDDEN message in a WEIGHTED round"),
        ({"length": 1}, "1 values, the model has"),
    ],
)
def test_every_difference_is_said(occasion: Occasion, change: dict[str, Any], said: str) -> None:
    assert occasion.difference(occasion) is None
    assert said in str(occasion.difference(replace(occasion, **change)))


def test_hidden_frames_carry_two_numbers_more(params: Parameters, occasion: Occasion) -> None:
    full = replace(occasion, length=params.data_slots)
    assert full.chunks(params) == 1
    assert replace(full, kind=Kind.HIDDEN).chunks(params) == 2
