"""How committees are drawn, and how large they must be."""

from collections import Counter

import pytest

from sapefl_crypto import ValueRejected
from sapefl_crypto.joint.drawing import CommitteeSize, chance_of_more, draw_committee, planned_size


def test_fifteen_of_seventy_are_not_enough_for_ten_colluders() -> None:
    """More than four of them sit in one committee of thirty-odd, so in nearly every study of a hundred rounds."""
    once = chance_of_more(70, 10, 15, 4)
    assert once == pytest.approx(0.03, abs=0.005)
    assert 1 - (1 - once) ** 100 == pytest.approx(0.96, abs=0.02)


def test_chances_by_hand() -> None:
    """Two of four sites collude; a committee of two has both with chance 1/6, one or both with 5/6."""
    assert chance_of_more(4, 2, 2, 1) == pytest.approx(1 / 6)
    assert chance_of_more(4, 2, 2, 0) == pytest.approx(5 / 6)
    assert chance_of_more(4, 2, 2, 2) == 0


@pytest.mark.parametrize(("sites", "colluders", "threshold"), [(4, 1, 3), (7, 2, 5), (15, 5, 10), (7, 5, 6)])
def test_few_sites_are_all_members(sites: int, colluders: int, threshold: int) -> None:
    found = planned_size(sites, colluders=colluders, rounds=100)
    assert (found.members, found.threshold, found.tolerated) == (sites, threshold, colluders)


@pytest.mark.parametrize(("sites", "colluders"), [(70, 10), (500, 50), (10_000, 1000)])
def test_many_sites_draw_a_committee_that_holds_over_a_whole_study(sites: int, colluders: int) -> None:
    size = planned_size(sites, colluders=colluders, rounds=100, failure=1e-6)
    members, tolerated = size.members, size.tolerated
    assert 100 * chance_of_more(sites, colluders, members, tolerated) <= 1e-6
    assert tolerated < size.threshold <= members
    assert (members + tolerated) // 2 + 1 <= members - members // 3 + 1, "a third of the members may be silent"
    nonces = {str(number): b"" for number in range(sites)}
    assert draw_committee(nonces, seed=b"", round_index=0, size=size).fewest_senders == colluders + 2


@pytest.mark.parametrize(("sites", "colluders", "rounds"), [(2, 0, 1), (5, 4, 1), (5, 1, 0), (100, 45, 100)])
def test_what_cannot_be_planned_is_refused(sites: int, colluders: int, rounds: int) -> None:
    with pytest.raises(ValueRejected):
        planned_size(sites, colluders=colluders, rounds=rounds)


NONCES = {f"site-{number}": bytes([number] * 16) for number in range(40)}
ABOUT = {"seed": b"seed", "round_index": 3, "size": CommitteeSize(members=15, threshold=10, tolerated=3, colluders=5)}


def test_a_draw_is_the_same_for_everybody_and_another_every_round() -> None:
    first = draw_committee(NONCES, **ABOUT)
    assert draw_committee(dict(reversed(NONCES.items())), **ABOUT) == first
    assert first.members == tuple(sorted(first.members))
    for changed in ({"round_index": 4}, {"seed": b"other"}):
        assert draw_committee(NONCES, **{**ABOUT, **changed}).members != first.members
    for name in ("site-0", "site-39"):
        assert draw_committee({**NONCES, name: b"another nonce"}, **ABOUT).members != first.members, (
            "every nonce counts"
        )


def test_all_sites_are_drawn_equally_often() -> None:
    seats = Counter(
        name for at in range(800) for name in draw_committee(NONCES, **{**ABOUT, "round_index": at}).members
    )
    assert len(seats) == 40
    assert all(abs(count - 300) < 5 * (800 * 0.375 * 0.625) ** 0.5 for count in seats.values())


def test_more_members_than_sites_are_refused() -> None:
    with pytest.raises(ValueRejected, match="15 cannot be drawn from 2"):
        draw_committee({"a": b"", "b": b""}, **ABOUT)
