"""Messages: what goes in comes out; what was altered, moved, repeated or signed by somebody else does not."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import FrameRejected, SiteIdentity
from sapefl_crypto.keys.signing import sign_frame
from secure_sapefl.plain_text import LONGEST_SENTENCE
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel
from secure_sapefl.storage import parts as packing
from secure_sapefl.transport.signed_parts import WIRE_VERSION
from secure_sapefl.transport.wire import (
    ToServer,
    ToSite,
    outcome_of,
    outcome_parts,
    read_to_server,
    read_to_site,
    upload_of,
    upload_parts,
    write_to_server,
    write_to_site,
)

COORDINATOR, NORTH, STRANGER = (SiteIdentity.generate(name) for name in ("coordinator", "north", "stranger"))
ROSTER = {"north": NORTH.public}
STUDY = "trial:0123"

blobs = st.binary(max_size=40)
names = st.text("abcdefghij", min_size=1, max_size=8)
counts = st.integers(0, 1000)
words = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=20)
outcomes = st.builds(
    RoundOutcome,
    round_index=counts,
    aggregate=st.none() | blobs,
    weights=st.lists(st.tuples(names, counts), max_size=3).map(tuple),
    refusals=st.lists(st.builds(Refusal, names, words), max_size=3).map(tuple),
)
uploads = st.builds(
    lambda index, score, update, blob: RoundUpload(
        site="north",
        round_index=index,
        similarity_score=score,
        update=update,
        theta_personal=None if blob is None else SealedModel(sender="north", round_index=index, blob=blob),
    ),
    counts,
    st.floats(0, 100),
    st.none() | blobs,
    st.none() | blobs,
)


def to_site(**fields: Any) -> ToSite:
    peer = SealedModel(sender="east", round_index=1, blob=b"sealed")
    invitation = Invitation(site="north", round_index=2, peers=("east", "west"), models=(peer,))
    return ToSite(**({"site": "north", "round_index": 2, "nonce": "n", "invitation": invitation} | fields))


def to_server(**fields: Any) -> ToServer:
    return ToServer(**({"site": "north", "round_index": 2, "nonce": "n", "absorbed": 2} | fields))


@given(st.lists(outcomes, max_size=3).map(tuple), st.booleans())
def test_a_message_to_a_site_comes_out_as_it_went_in(found: tuple[RoundOutcome, ...], over: bool) -> None:
    message = to_site(outcomes=found, over=over)
    assert read_to_site(write_to_site(message, COORDINATOR, STUDY), COORDINATOR.public, STUDY) == message


@given(st.none() | uploads, st.none() | words)
def test_an_answer_comes_out_as_it_went_in(upload: RoundUpload | None, declined: str | None) -> None:
    message = to_server(upload=upload, declined=declined, rejected=declined)
    assert read_to_server(write_to_server(message, NORTH, STUDY), ROSTER, STUDY) == message


@given(uploads, outcomes)
def test_uploads_and_outcomes_survive_a_file(upload: RoundUpload, outcome: RoundOutcome) -> None:
    stored = packing.from_bytes(packing.to_bytes(upload_parts(upload)))
    assert upload_of(stored, "north") == upload
    assert outcome_of(packing.from_bytes(packing.to_bytes(outcome_parts(outcome)))) == outcome


def flip(parts: packing.Parts, number: int, place: int) -> packing.Parts:
    part = bytearray(parts[number])
    part[place % len(part)] ^= 1
    return (*parts[:number], bytes(part), *parts[number + 1 :])


@given(st.integers(0, 10_000), st.integers(0, 1))
def test_no_bit_of_a_message_can_be_changed(place: int, number: int) -> None:
    parts = write_to_site(to_site(), COORDINATOR, STUDY)
    with pytest.raises(FrameRejected):
        read_to_site(flip(parts, number, place), COORDINATOR.public, STUDY)


PARTS = write_to_site(to_site(), COORDINATOR, STUDY)


@pytest.mark.parametrize(
    "tampered",
    [(), (b"",), (b"abc",), PARTS[:1], (*PARTS, b"more"), (PARTS[0], b"other"), (PARTS[1], PARTS[0])],
    ids=["nothing", "empty", "short", "piece missing", "piece added", "piece exchanged", "order"],
)
def test_pieces_are_the_signed_ones(tampered: packing.Parts) -> None:
    with pytest.raises(FrameRejected):
        read_to_site(tampered, COORDINATOR.public, STUDY)


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_to_site(write_to_site(to_site(), STRANGER, STUDY), COORDINATOR.public, STUDY),
        lambda: read_to_site(write_to_site(to_site(), COORDINATOR, "other:0123"), COORDINATOR.public, STUDY),
        lambda: read_to_site(write_to_server(to_server(), COORDINATOR, STUDY), COORDINATOR.public, STUDY),
        lambda: read_to_server(write_to_server(to_server(site="stranger"), STRANGER, STUDY), ROSTER, STUDY),
        lambda: read_to_server(write_to_server(to_server(site="east"), NORTH, STUDY), ROSTER, STUDY),
        lambda: read_to_server(write_to_server(to_server(), STRANGER, STUDY), ROSTER, STUDY),
        lambda: read_to_server(write_to_site(to_site(), NORTH, STUDY), ROSTER, STUDY),
    ],
    ids=["forged", "other study", "own direction", "stranger", "another's name", "borrowed name", "turned around"],
)
def test_only_the_right_party_is_believed(read: Callable[[], object]) -> None:
    with pytest.raises(FrameRejected):
        read()


def test_a_round_cannot_be_relabelled() -> None:
    head = PARTS[0]
    with pytest.raises(FrameRejected):
        read_to_site(((3).to_bytes(4, "big") + head[4:], *PARTS[1:]), COORDINATOR.public, STUDY)


@pytest.mark.parametrize("head", [{}, {"round": 2, "pieces": []}, [], "text", {"round": -1, "pieces": []}], ids=str)
def test_a_malformed_head_is_one_error_even_when_signed(head: object) -> None:
    import json

    from sapefl_crypto import sign_frame

    frame = sign_frame(COORDINATOR, json.dumps(head).encode(), study=STUDY, round_index=2, kind="server to site")
    with pytest.raises(FrameRejected):
        read_to_site(((2).to_bytes(4, "big") + frame,), COORDINATOR.public, STUDY)


@given(st.lists(st.binary(max_size=30), max_size=5).map(tuple))
def test_parts_survive_packing(parts: packing.Parts) -> None:
    assert packing.from_bytes(packing.to_bytes(parts)) == parts


@given(st.binary(max_size=60))
def test_any_bytes_are_parts_or_refused(content: bytes) -> None:
    with suppress(FrameRejected):
        assert packing.to_bytes(packing.from_bytes(content)) == content


def test_announced_lengths_cost_no_memory() -> None:
    with pytest.raises(FrameRejected, match="at most"):
        packing.from_bytes((1).to_bytes(4, "big") + (2**62).to_bytes(8, "big"))
    with pytest.raises(FrameRejected, match="at most"):
        packing.from_bytes((2**32 - 1).to_bytes(4, "big"))


def test_a_head_and_its_frame_must_name_the_same_round() -> None:
    """Each is signed; together they must not say two things, whoever wrote them."""
    head = {"version": WIRE_VERSION, "round": 2, "pieces": [], "site": "north", "nonce": "n", "over": False}
    head |= {"outcomes": [], "invitation": None}
    for said, read in ((2, True), (3, False)):
        frame = sign_frame(COORDINATOR, json.dumps(head).encode(), study=STUDY, round_index=said, kind="server to site")
        parts = (said.to_bytes(4, "big") + frame,)
        if read:
            assert read_to_site(parts, COORDINATOR.public, STUDY).round_index == 2
        else:
            with pytest.raises(FrameRejected, match="not the ones it signed"):
                read_to_site(parts, COORDINATOR.public, STUDY)


def test_a_message_has_a_direction_even_where_one_party_is_both() -> None:
    """A coordinator that is a site too signs both kinds with one key; neither passes for the other."""
    both = {"coordinator": COORDINATOR.public}
    with pytest.raises(FrameRejected, match="signature does not hold"):
        read_to_server(write_to_site(to_site(), COORDINATOR, STUDY), both, STUDY)
    with pytest.raises(FrameRejected, match="signature does not hold"):
        read_to_site(write_to_server(to_server(), COORDINATOR, STUDY), COORDINATOR.public, STUDY)


@pytest.mark.parametrize("version", [None, 1, WIRE_VERSION + 1, "\x1b[2J" * 1000], ids=["none", "old", "new", "noise"])
def test_a_message_of_another_wire_version_is_refused_with_what_to_do(version: object) -> None:
    head = {"round": 2, "pieces": []} | ({} if version is None else {"version": version})
    frame = sign_frame(COORDINATOR, json.dumps(head).encode(), study=STUDY, round_index=2, kind="server to site")
    with pytest.raises(FrameRejected, match="Install the same release") as refused:
        read_to_site(((2).to_bytes(4, "big") + frame,), COORDINATOR.public, STUDY)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


NASTY = "\x1b]0;owned\x07\x1b[2J\nsecond line \u202e" + "x" * 2000


def test_what_a_site_says_is_one_printable_line_of_bounded_length() -> None:
    message = to_server(declined=NASTY, rejected=NASTY)
    read = read_to_server(write_to_server(message, NORTH, STUDY), ROSTER, STUDY)
    for said in (read.declined, read.rejected):
        assert said is not None
        assert said.isprintable()
        assert len(said) == LONGEST_SENTENCE


def test_reasons_that_travel_to_every_site_are_bounded_too() -> None:
    outcome = RoundOutcome(round_index=0, aggregate=None, weights=(), refusals=(Refusal("east", NASTY),))
    message = write_to_site(to_site(outcomes=(outcome,)), COORDINATOR, STUDY)
    (found,) = read_to_site(message, COORDINATOR.public, STUDY).outcomes
    assert found.refusals[0].reason.isprintable()
    assert len(found.refusals[0].reason) == LONGEST_SENTENCE


def test_an_answer_of_megabytes_of_words_is_no_message() -> None:
    with pytest.raises(FrameRejected, match="no message"):
        read_to_server(write_to_server(to_server(declined="x" * 20_000_000), NORTH, STUDY), ROSTER, STUDY)


@pytest.mark.parametrize("name", [NASTY, "", "two\nlines", 7, None, ["east"]], ids=repr)
def test_names_in_a_message_are_names(name: Any) -> None:
    invitation = Invitation(site="north", round_index=2, peers=(name,), models=())
    with pytest.raises(FrameRejected, match="malformed"):
        read_to_site(write_to_site(to_site(invitation=invitation), COORDINATOR, STUDY), COORDINATOR.public, STUDY)
