from dataclasses import replace

import pytest

from sapefl_crypto import FrameRejected, Parameters, ValueRejected
from sapefl_crypto.frames import Frame, checksum_holds, encoded_sender, parse_frame, sender_and_nonce, with_checksum
from sapefl_crypto.occasion import Kind, Occasion


@pytest.fixture
def occasion(params: Parameters) -> Occasion:
    return Occasion.bound_to(params, Kind.WEIGHTED, study="s", round_index=3, length=10)


@pytest.fixture
def frame(params: Parameters, occasion: Occasion) -> Frame:
    return Frame(occasion=occasion, nonce=b"n" * 16, sender="site ä", payload=bytes(params.fresh_chunk_bytes))


def test_a_frame_comes_back_as_it_went(params: Parameters, frame: Frame) -> None:
    data = frame.to_bytes()
    assert parse_frame(data, params, frame.occasion) == frame
    assert sender_and_nonce(data) == ("site ä", b"n" * 16)


def test_the_bytes_are_where_the_table_says(params: Parameters, frame: Frame) -> None:
    data = frame.to_bytes()
    assert data[:6] == b"SPFR\x01\x01"
    assert data[38:54] == params.digest
    assert int.from_bytes(data[54:62], "big") == 3
    assert int.from_bytes(data[62:70], "big") == 10
    assert data[70:86] == frame.nonce
    assert data[86] == len("site ä".encode())
    assert int.from_bytes(data[87:95], "big") == params.fresh_chunk_bytes
    assert len(data) == 95 + 7 + params.fresh_chunk_bytes + 4


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"round_index": 2}, "round 2"),
        ({"study_digest": bytes(32)}, "another study"),
        ({"params_digest": bytes(16)}, "other parameters"),
        ({"kind": Kind.HIDDEN}, "HIDDEN"),
        ({"length": 11}, "11 values"),
    ],
)
def test_a_foreign_frame_names_sender_round_and_reason(
    params: Parameters, frame: Frame, change: dict[str, object], named: str
) -> None:
    foreign = replace(frame, occasion=replace(frame.occasion, **change))  # type: ignore[arg-type]
    with pytest.raises(FrameRejected, match=f"'site ä', round 3.*{named}"):
        parse_frame(foreign.to_bytes(), params, frame.occasion)


def test_a_payload_of_another_size_than_the_model_implies_is_refused(params: Parameters, frame: Frame) -> None:
    with pytest.raises(FrameRejected, match="the model implies"):
        parse_frame(replace(frame, payload=bytes(5)).to_bytes(), params, frame.occasion)


def test_damage_anywhere_is_refused(params: Parameters, frame: Frame) -> None:
    data = bytearray(frame.to_bytes())
    for position in (0, 4, 5, 40, 75, 86, 90, 97, 5000, len(data) - 1):
        damaged = bytearray(data)
        damaged[position] ^= 0x40
        with pytest.raises(FrameRejected):
            parse_frame(bytes(damaged), params, frame.occasion)


def test_every_truncation_is_refused(params: Parameters, frame: Frame) -> None:
    data = frame.to_bytes()
    for size in (*range(200), len(data) - 5, len(data) - 1):
        with pytest.raises(FrameRejected):
            parse_frame(data[:size], params, frame.occasion)
    with pytest.raises(FrameRejected):
        parse_frame(data + b"\0", params, frame.occasion)


def test_an_unknown_kind_or_unreadable_sender_is_refused(params: Parameters, frame: Frame) -> None:
    data = frame.to_bytes()[:-4]
    for position, byte in ((5, 9), (95, 0xFF), (95, 0x0A)):
        forged = with_checksum(data[:position] + bytes([byte]) + data[position + 1 :])
        with pytest.raises(FrameRejected):
            parse_frame(forged, params, frame.occasion)


@pytest.mark.parametrize("sender", ["", "a" * 129, "a\nb", "a\0", "\ud800"])
def test_senders_have_printable_names(sender: str) -> None:
    with pytest.raises(ValueRejected):
        encoded_sender(sender)


def test_checksum_covers_all_parts() -> None:
    assert checksum_holds(with_checksum(b"a", b"b"))
    assert not checksum_holds(with_checksum(b"a", b"b")[:-1] + b"\0")
