"""A signed head and its pieces: nothing of either can be exchanged, and releases that differ say so."""

import json
from typing import Any

import pytest

from sapefl_crypto import FrameRejected, SiteIdentity
from sapefl_crypto.keys.signing import sign_frame
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.signed_parts import WIRE_VERSION, Strict, parts_digest, signed, verified

NORTH, STRANGER = (SiteIdentity.generate(name) for name in ("north", "stranger"))
ROSTER = {"north": NORTH.public}
STUDY, KIND = "trial:0123", "a test"
LARGEST = 1000


def read(parts: Parts, **changed: Any) -> tuple[str, dict[str, Any], Parts]:
    about = {"roster": ROSTER, "study": STUDY, "kind": KIND, "largest_head": LARGEST} | changed
    return verified(parts, **about)


def framed(head: object, round_index: int = 2) -> Parts:
    """Whatever ``head`` is, signed."""
    frame = sign_frame(NORTH, json.dumps(head).encode(), study=STUDY, round_index=round_index, kind=KIND)
    return (round_index.to_bytes(4, "big") + frame,)


def test_head_and_pieces_come_back_with_who_signed() -> None:
    signer, head, pieces = read(signed({"round": 2, "more": "x"}, [b"one", b"two"], NORTH, STUDY, KIND))
    assert (signer, pieces) == ("north", (b"one", b"two"))
    assert (head["round"], head["more"], head["version"]) == (2, "x", WIRE_VERSION)


@pytest.mark.parametrize(
    "changed",
    [{"study": "other"}, {"kind": "another"}, {"roster": {"north": STRANGER.public}}, {"roster": {}}],
    ids=["study", "kind", "key", "stranger"],
)
def test_a_signature_is_for_one_study_and_purpose_by_a_party_of_the_roster(changed: dict[str, Any]) -> None:
    with pytest.raises(FrameRejected):
        read(signed({"round": 2}, [], NORTH, STUDY, KIND), **changed)


def test_pieces_are_the_signed_ones_in_their_order() -> None:
    head, one, two = signed({"round": 2}, [b"one", b"two"], NORTH, STUDY, KIND)
    for pieces in ((), (one,), (two, one), (one, two, two), (one, b"other")):
        with pytest.raises(FrameRejected, match="not the ones it signed"):
            read((head, *pieces))


def test_a_head_beyond_what_a_reader_takes_is_not_looked_into() -> None:
    for parts in ((), (b"abc",), (bytes(LARGEST + 1),)):
        with pytest.raises(FrameRejected, match="no message"):
            read(parts)


@pytest.mark.parametrize("head", [{}, {"round": 2, "pieces": []}, [], "text", {"round": -1, "pieces": []}], ids=str)
def test_a_malformed_head_is_one_error_even_when_signed(head: object) -> None:
    with pytest.raises(FrameRejected):
        read(framed(head))


def test_a_head_and_its_frame_must_name_the_same_round() -> None:
    """Each is signed; together they must not say two things, whoever wrote them."""
    head = {"version": WIRE_VERSION, "round": 2, "pieces": []}
    assert read(framed(head))[1]["round"] == 2
    with pytest.raises(FrameRejected, match="not the ones it signed"):
        read(framed(head, round_index=3))
    (parts,) = framed(head)
    with pytest.raises(FrameRejected, match="signature"):
        read(((3).to_bytes(4, "big") + parts[4:],))


@pytest.mark.parametrize("version", [None, 1, WIRE_VERSION + 1, "\x1b[2J" * 1000], ids=["none", "old", "new", "noise"])
def test_another_wire_version_is_refused_with_what_to_do(version: object) -> None:
    head = {"round": 2, "pieces": []} | ({} if version is None else {"version": version})
    with pytest.raises(FrameRejected, match="Install the same release") as refused:
        read(framed(head), largest_head=10_000)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


def test_a_digest_names_parts_and_where_one_ends() -> None:
    assert parts_digest((b"ab", b"c")) != parts_digest((b"a", b"bc"))
    assert parts_digest((b"a", b"b")) != parts_digest((b"b", b"a"))
    assert parts_digest(()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_strictness_turns_python_errors_into_one_and_leaves_others_alone() -> None:
    for error in (ValueError, KeyError, TypeError, StopIteration):
        with pytest.raises(FrameRejected, match="7 bytes is malformed"), Strict((b"1234", b"567")):
            raise error("secret")
    with pytest.raises(OSError, match="disk"), Strict(()):
        raise OSError("disk")
