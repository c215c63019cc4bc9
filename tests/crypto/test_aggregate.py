from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import Aggregate, AggregateRejected, Claim, Parameters
from sapefl_crypto.claims import ClaimedPart
from sapefl_crypto.frames import with_checksum
from sapefl_crypto.occasion import Kind, Occasion

PARTS = (
    ClaimedPart(sender="a", weight=5, nonce=bytes(16)),
    ClaimedPart(sender="ß" * 40, weight=16384, nonce=b"\xff" * 16),
)


@pytest.fixture
def occasion(params: Parameters) -> Occasion:
    return Occasion.bound_to(params, Kind.WEIGHTED, study="s", round_index=3, length=10)


@pytest.fixture
def aggregate(params: Parameters, occasion: Occasion) -> Aggregate:
    return Aggregate(occasion=occasion, claim=Claim(PARTS), payload=bytes(params.sum_chunk_bytes))


def test_an_aggregate_comes_back_as_it_went(params: Parameters, occasion: Occasion, aggregate: Aggregate) -> None:
    again = Aggregate.from_bytes(aggregate.to_bytes())
    assert again == aggregate
    assert again.digest == aggregate.digest != replace(aggregate, payload=b"").digest
    again.check(params, occasion)


def test_the_bytes_are_where_the_table_says(aggregate: Aggregate) -> None:
    data = aggregate.to_bytes()
    assert data[:6] == b"SPAG\x01\x01"
    assert data[70:74] == (2).to_bytes(4, "big")
    assert data[74:96] == b"\x01a" + (5).to_bytes(4, "big") + bytes(16)


def test_unchanged_is_an_empty_claim_without_payload(params: Parameters, occasion: Occasion) -> None:
    nothing = Aggregate(occasion=occasion, claim=Claim(), payload=b"")
    assert nothing.unchanged
    nothing.check(params, occasion)
    with pytest.raises(AggregateRejected, match="payload"):
        replace(nothing, payload=b"x").check(params, occasion)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ((PARTS[0], PARTS[0]), "twice"),
        ((replace(PARTS[0], weight=0),), "weight"),
        ((replace(PARTS[0], weight=16385),), "weight"),
        (tuple(replace(PARTS[0], sender=str(index)) for index in range(11)), "planned for 10"),
    ],
)
def test_impossible_claims_are_refused(
    params: Parameters, occasion: Occasion, aggregate: Aggregate, parts: tuple[ClaimedPart, ...], named: str
) -> None:
    with pytest.raises(AggregateRejected, match=named):
        replace(aggregate, claim=Claim(parts)).check(params, occasion)


def test_hidden_claims_have_weight_one(params: Parameters, occasion: Occasion, aggregate: Aggregate) -> None:
    hidden = replace(occasion, kind=Kind.HIDDEN)
    with pytest.raises(AggregateRejected, match="between 1 and 1"):
        replace(aggregate, occasion=hidden).check(params, hidden)


@given(st.data())
def test_any_changed_byte_is_refused(aggregate_bytes: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(aggregate_bytes) - 1))
    flip = data.draw(st.integers(1, 255))
    damaged = bytearray(aggregate_bytes)
    damaged[position] ^= flip
    with pytest.raises(AggregateRejected, match="format"):
        Aggregate.from_bytes(bytes(damaged))


@given(st.data())
def test_a_forged_claim_never_crashes_the_parser(aggregate_bytes: bytes, data: st.DataObject) -> None:
    """With the checksum made good, all that is left is parsing: an aggregate or one typed error."""
    body = bytearray(aggregate_bytes[:300])
    for position in data.draw(st.lists(st.integers(4, 299), min_size=1, max_size=4)):
        body[position] = data.draw(st.integers(0, 255))
    with suppress(AggregateRejected):
        Aggregate.from_bytes(with_checksum(bytes(body[: data.draw(st.integers(75, 300))])))


@pytest.fixture(scope="module")
def aggregate_bytes() -> bytes:
    params = Parameters(max_clients=10)
    occasion = Occasion.bound_to(params, Kind.WEIGHTED, study="s", round_index=3, length=10)
    return Aggregate(occasion=occasion, claim=Claim(PARTS), payload=bytes(500)).to_bytes()


def test_a_lying_count_costs_nothing(aggregate: Aggregate) -> None:
    body = aggregate.to_bytes()[:-4]
    with pytest.raises(AggregateRejected, match="format"):
        Aggregate.from_bytes(with_checksum(body[:70] + b"\xff\xff\xff\xff" + body[74:]))
