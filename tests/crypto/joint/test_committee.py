"""A committee of which no two halves can be shown different claims."""

import pytest

from sapefl_crypto import ValueRejected
from sapefl_crypto.joint.committee import Committee

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


@pytest.mark.parametrize(("members", "tolerated", "quorum"), [(4, 0, 3), (4, 1, 3), (4, 2, 4), (7, 3, 6), (15, 5, 11)])
def test_no_two_claims_can_both_have_a_quorum(members: int, tolerated: int, quorum: int) -> None:
    names = tuple(map(str, range(members)))
    committee = Committee(members=names, threshold=max(tolerated + 1, 2), tolerated=tolerated)
    assert committee.quorum == quorum
    assert 2 * quorum > (members - tolerated) + 2 * tolerated


@pytest.mark.parametrize(
    ("members", "threshold", "tolerated"),
    [(("a",), 1, 0), (("a", "a"), 1, 0), (("a", "b"), 3, 0), (("a", "b"), 1, 1), (("a", "b"), 0, -1)],
)
def test_committees_that_protect_nothing_are_refused(members, threshold: int, tolerated: int) -> None:
    with pytest.raises(ValueRejected):
        Committee(members=members, threshold=threshold, tolerated=tolerated)


def test_colluders_on_the_committee_are_among_all_colluders() -> None:
    committee = Committee(members=tuple("abcd"), threshold=3, tolerated=1)
    assert (committee.colluders, committee.fewest_senders) == (1, 3)
    assert Committee(members=tuple("abcd"), threshold=3, tolerated=1, colluders=4).fewest_senders == 6


def test_a_message_of_another_committee_is_told_by_anything_that_differs() -> None:
    about = {"members": tuple("abcd"), "threshold": 3, "tolerated": 1, "colluders": 2}
    others = ({"members": tuple("abce")}, {"threshold": 4}, {"tolerated": 0}, {"colluders": 3})
    assert len({Committee(**about | other).digest for other in ({}, *others)}) == 5  # type: ignore[arg-type]
