"""One vector under one key, its shares with the whole committee."""

import numpy as np
import pytest

from sapefl_crypto import KeyRejected, ValueRejected
from sapefl_crypto.joint.round_key import RoundKey


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


def test_shares_go_to_the_whole_committee_and_nobody_else(make_cohort) -> None:
    cohort = make_cohort(4, members=3)
    for members in (cohort.member_keys | {"d": bytes(32)}, {"a": cohort.member_keys["a"]}):
        with pytest.raises(ValueRejected, match="each of a, b, c"):
            RoundKey(cohort.about, sender="a", members=members)
