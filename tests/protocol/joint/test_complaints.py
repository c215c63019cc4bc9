"""Who is done without when shares cannot be used: members as long as there are enough, else the sender."""

from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.protocol.joint.complaints import able, senders_to_leave_out

NOBODY: frozenset[str] = frozenset()


def said(**complaints: str) -> dict[str, frozenset[str]]:
    return {member: frozenset(senders) for member, senders in complaints.items()}


def test_one_member_that_complains_of_everybody_harms_nobody() -> None:
    complaints = said(a="", b="", c="", d="abc")
    assert senders_to_leave_out(complaints, needed=3) == NOBODY
    assert able(complaints, NOBODY) == ("a", "b", "c")


def test_a_sender_whom_most_complain_of_goes() -> None:
    complaints = said(a="x", b="x", c="", d="")
    assert senders_to_leave_out(complaints, needed=3) == {"x"}
    assert able(complaints, frozenset("x")) == ("a", "b", "c", "d")


def test_no_more_than_necessary() -> None:
    """By hand: three are needed of a, b, c, d; without x there are a, b and d, and y may stay."""
    assert senders_to_leave_out(said(a="x", b="x", c="xy", d=""), needed=3) == {"x"}


def test_silence_is_no_complaint() -> None:
    assert senders_to_leave_out(said(a="x", b=""), needed=3) == NOBODY


members = st.dictionaries(st.sampled_from("abcdefg"), st.frozensets(st.sampled_from("uvwxyz"), max_size=4), max_size=7)


@given(members, st.integers(1, 7))
def test_enough_are_able_whenever_enough_were_heard_of(complaints: dict[str, frozenset[str]], needed: int) -> None:
    out = senders_to_leave_out(complaints, needed)
    assert (len(able(complaints, out)) >= needed) == (len(complaints) >= needed)
    assert out <= {sender for senders in complaints.values() for sender in senders}
