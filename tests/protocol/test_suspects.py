"""The search for a site that spoils sums, with sites as letters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.protocol.suspects import Trial, suspects, to_leave_out


def spoilt(names: str) -> Trial:
    return Trial(frozenset(names), held=False)


def sound(names: str) -> Trial:
    return Trial(frozenset(names), held=True)


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ((), ""),
        ((sound("abcd"),), ""),
        ((spoilt("abcd"),), "abcd"),
        ((spoilt("abcd"), sound("cd")), "ab"),
        ((spoilt("abcd"), spoilt("cd")), "cd"),
        ((spoilt("abcd"), sound("cd"), sound("acd")), "b"),
        ((spoilt("abcd"), sound("abcd")), ""),  # the author stopped
        ((spoilt("abcd"), sound("bcd"), spoilt("bcd")), "bcd"),  # without the suspect it goes on: begin anew
    ],
)
def test_suspects_by_hand(history: tuple[Trial, ...], found: str) -> None:
    assert suspects(history) == frozenset(found)


@pytest.mark.parametrize(
    ("suspected", "least", "left"),
    [("abcd", 2, "ab"), ("abcd", 3, "a"), ("abcd", 4, ""), ("bd", 2, "b"), ("d", 3, "d"), ("", 2, ""), ("xyz", 2, "")],
)
def test_whom_to_leave_out_by_hand(suspected: str, least: int, left: str) -> None:
    assert to_leave_out(frozenset(suspected), "abcd", least) == tuple(left)


@given(st.integers(3, 60), st.data())
def test_one_author_is_found_and_nobody_below_the_least_is_ever_asked_for(sites: int, data: st.DataObject) -> None:
    names = [f"s{c}" for c in range(sites)]
    author, least = data.draw(st.sampled_from(names)), data.draw(st.integers(2, sites - 1))
    history = [Trial(frozenset(names), held=False)]
    while len(suspects(history)) > 1:
        out = to_leave_out(suspects(history), names, least)
        senders = frozenset(names) - set(out)
        assert len(senders) >= least
        history.append(Trial(senders, held=author not in senders))
    assert suspects(history) == {author}
    if least <= sites // 2:
        assert len(history) <= 1 + math.ceil(math.log2(sites)) + 1
    assert len(history) <= sites + 1
