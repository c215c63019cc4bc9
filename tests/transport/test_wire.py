"""Messages: what goes in comes out; what was altered, moved, repeated or signed by somebody else does not."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import FrameRejected, SiteIdentity
from secure_sapefl.plain_text import LONGEST_SENTENCE
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.wire import (
    ToServer,
    ToSite,
    read_to_server,
    read_to_site,
    write_to_server,
    write_to_site,
)
from tests.transport.random_messages import outcomes, uploads, words

COORDINATOR, NORTH, STRANGER = (SiteIdentity.generate(name) for name in ("coordinator", "north", "stranger"))
ROSTER = {"north": NORTH.public}
STUDY = "trial:0123"


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


def flip(parts: Parts, number: int, place: int) -> Parts:
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
def test_pieces_are_the_signed_ones(tampered: Parts) -> None:
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


def test_a_message_has_a_direction_even_where_one_party_is_both() -> None:
    """A coordinator that is a site too signs both kinds with one key; neither passes for the other."""
    both = {"coordinator": COORDINATOR.public}
    with pytest.raises(FrameRejected, match="signature does not hold"):
        read_to_server(write_to_site(to_site(), COORDINATOR, STUDY), both, STUDY)
    with pytest.raises(FrameRejected, match="signature does not hold"):
        read_to_site(write_to_server(to_server(), COORDINATOR, STUDY), COORDINATOR.public, STUDY)


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
