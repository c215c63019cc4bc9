"""One vector under one key, its shares with the committee."""

import numpy as np
import pytest

from sapefl_crypto import FrameRejected, KeyRejected, ValueRejected
from sapefl_crypto.joint.field import PRIME, RING_DEGREE
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.round_key import RoundKey, bytes_of_shares, fresh_secret


def test_a_key_encrypts_once_and_an_erased_one_never(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    key = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    cohort.sign("a", key, vectors[0], 0.5)
    with pytest.raises(KeyRejected, match="its one vector"):
        cohort.sign("a", key, vectors[1], 0.5)
    other = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    masks = other._masks  # a thief's view: a key gives its masks to nobody
    other.erase()
    assert not masks.any()
    with pytest.raises(KeyRejected, match="erased"):
        cohort.sign("a", other, vectors[0], 0.5)


def test_what_does_not_fit_is_refused_before_the_key_is_spent(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    key = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    for vector, score in (
        (vectors[0][:50], 0.5),
        (vectors[0] * 1e4, 0.5),
        (vectors[0] * np.nan, 0.5),
        (vectors[0], 1.5),
    ):
        with pytest.raises(ValueRejected):
            cohort.sign("a", key, vector, score)
    with pytest.raises(ValueRejected, match="'a''s"):
        cohort.sign("b", key, vectors[0], 0.5)
    cohort.sign("a", key, vectors[0], 0.5)


def test_shares_go_to_the_committee_and_nobody_else(make_cohort) -> None:
    cohort = make_cohort(4, members=3)
    with pytest.raises(ValueRejected, match="'d' is not on it"):
        RoundKey(cohort.about, sender="a", members=cohort.member_keys | {"d": bytes(32)})


def test_keys_are_uniform_below_the_prime_and_no_two_alike() -> None:
    """Chi-square over sixteenths of the field, within six deviations of 15: a sum of small keys would fall apart."""
    first, second = fresh_secret(), fresh_secret()
    assert first.shape == (RING_DEGREE + 2,)
    assert int(first.max()) < PRIME
    assert not (first == second).any()
    counts = np.bincount((first >> np.uint64(56)).astype(np.int64), minlength=16)
    assert counts.size == 16
    assert float(((counts - counts.mean()) ** 2 / counts.mean()).sum()) < 15 + 6 * np.sqrt(2 * 15)


@pytest.mark.parametrize(("members", "threshold"), [(4, 3), (3, 2), (5, 5)])
def test_shares_are_as_large_as_is_said(make_cohort, vectors, members: int, threshold: int) -> None:
    cohort = make_cohort(members, threshold=threshold)
    shares = cohort.upload("a", vectors[0], 0.5).shares
    assert sum(map(len, shares.values())) == bytes_of_shares(members, threshold)


def test_who_is_away_gets_no_share_and_the_others_still_open_the_sum(make_cohort, vectors) -> None:
    """Four members, three needed: one may be away from the start, and its place in the manifest holds nothing."""
    whole, cohort = make_cohort(4), make_cohort(4)
    expected = whole.run(vectors[:4], [0.5, 0.6, 0.7, 0.8])
    here = {name: key for name, key in cohort.member_keys.items() if name != "b"}
    for name, vector, score in zip(cohort.names, vectors, (0.5, 0.6, 0.7, 0.8), strict=False):
        key = RoundKey(cohort.about, sender=name, members=here)
        cohort.uploads[name] = upload = cohort.sign(name, key, vector, score)
        assert upload.shares["b"] == b""
        for member in here:
            cohort.members[member].receive(signed_part(upload.frame), upload.shares[member])
        with pytest.raises(FrameRejected, match="does not open"):
            cohort.members["b"].receive(signed_part(upload.frame), b"")
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate, list(here))
    opened = cohort.open(aggregate, certificate, cohort.answers(aggregate, certificate, list(here)), reader="b")
    assert np.array_equal(opened.mean, expected)
    two = {name: here[name] for name in ("a", "c")}
    with pytest.raises(ValueRejected, match="2 of 4 members are here, 3 are needed"):
        RoundKey(cohort.about, sender="a", members=two)
