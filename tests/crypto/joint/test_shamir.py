"""Sharing and recombining, and finding values that do not fit."""

import numpy as np
import pytest

from sapefl_crypto.joint import shamir
from sapefl_crypto.joint.field import PRIME, uniform
from sapefl_crypto.joint.shamir import DealtShares, consistent, lagrange, read_share, value_at
from sapefl_crypto.secret import Secret

SECRET = uniform(Secret(bytes(32)), 0, 50)


def shares_of(secret: np.ndarray, threshold: int, members: int) -> dict[int, np.ndarray]:
    dealt = DealtShares(secret, threshold=threshold, members=members)
    read = [
        read_share(Secret(plain), point, threshold=threshold, count=secret.size)
        for point, plain in enumerate(dealt.plain(), 1)
    ]
    assert all(share is not None for share in read)
    return dict(enumerate(read, 1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("members", "threshold"), [(2, 1), (4, 3), (7, 5), (15, 10), (31, 21)])
def test_any_threshold_of_shares_gives_the_secret_and_the_rest_agree(members: int, threshold: int) -> None:
    shares, rng = shares_of(SECRET, threshold, members), np.random.default_rng(members)
    for _ in range(3):
        chosen = rng.permutation(members)[:threshold] + 1
        assert np.array_equal(value_at({int(point): shares[int(point)] for point in chosen}, 0), SECRET)
    assert consistent(shares, threshold)


def test_one_share_too_few_fits_every_secret() -> None:
    """For any other secret there is a last share with which the known ones give it."""
    shares, other = shares_of(SECRET, 3, 4), uniform(Secret(b"1" * 32), 0, 50)
    known = {point: shares[point] for point in (1, 4)}
    last = value_at({0: other} | known, 2)
    assert np.array_equal(value_at(known | {2: last}, 0), other)


def test_sums_of_shares_are_shares_of_sums() -> None:
    first, second = shares_of(SECRET, 3, 5), shares_of(SECRET, 3, 5)
    summed = {point: (first[point] + second[point]) % np.uint64(PRIME) for point in first}
    assert np.array_equal(
        value_at({point: summed[point] for point in (2, 3, 5)}, 0), (SECRET + SECRET) % np.uint64(PRIME)
    )


def test_below_the_threshold_shares_are_seeds() -> None:
    plain = list(DealtShares(SECRET, threshold=5, members=7).plain())
    assert [len(one) for one in plain] == [32, 32, 32, 32, 375, 375, 375]
    assert len(set(plain)) == 7, "whoever knows one share knows no other"


@pytest.mark.parametrize(("plain", "point"), [(bytes(31), 1), (bytes(374), 3), (b"\xff" * 375, 3)])
def test_what_is_no_share_is_not_read_as_one(plain: bytes, point: int) -> None:
    assert read_share(Secret(plain), point, threshold=3, count=50) is None


def test_erased_shares_are_gone() -> None:
    dealt = DealtShares(SECRET, threshold=2, members=3)
    vectors = list(dealt._vectors)  # shares are sealed before anybody may see them
    dealt.erase()
    assert list(dealt.plain()) == []
    assert not any(vector.any() for vector in vectors)


def test_what_seeds_expand_to_is_overwritten_once_the_other_shares_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded: list[np.ndarray] = []

    def watched(seed: Secret, count: int) -> np.ndarray:
        expanded.append(uniform(seed, 0, count))
        return expanded[-1]

    monkeypatch.setattr(shamir, "expanded", watched)
    DealtShares(SECRET, threshold=4, members=5)
    assert len(expanded) == 3
    assert not any(vector.any() for vector in expanded)


def test_lagrange_by_hand() -> None:
    """Through 1 and 2 a line has at 0 the value 2·P(1) - P(2)."""
    assert lagrange([1, 2], 0) == [2, PRIME - 1]
