"""Wrong values are found as far as they can be."""

import numpy as np
import pytest

from sapefl_crypto.joint.field import PRIME, uniform
from sapefl_crypto.joint.reed_solomon import wrong_points
from sapefl_crypto.joint.shamir import DealtShares, read_share
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


@pytest.mark.parametrize(("members", "threshold"), [(5, 3), (7, 5), (15, 10), (31, 21)])
def test_wrong_values_are_found_as_far_as_they_can_be(members: int, threshold: int) -> None:
    shares, rng = shares_of(SECRET, threshold, members), np.random.default_rng(threshold)
    values = {point: int(share[0]) for point, share in shares.items()}
    assert wrong_points(values, threshold) == frozenset()
    most = (members - threshold) // 2
    for errors in range(1, most + 1):
        liars = frozenset(int(point) for point in rng.permutation(members)[:errors] + 1)
        spoilt = {point: (value + int(point in liars) * (7 + point)) % PRIME for point, value in values.items()}
        assert wrong_points(spoilt, threshold) == liars
    liars = range(1, most + 2)
    spoilt = {point: int(rng.integers(PRIME)) if point in liars else value for point, value in values.items()}
    assert wrong_points(spoilt, threshold) is None
