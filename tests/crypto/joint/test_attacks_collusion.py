"""Who can read one site's update: the server alone, with some members, with a site that is no member. And who can."""

import numpy as np
import pytest

from sapefl_crypto import FrameRejected
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, combined
from sapefl_crypto.joint.round_key import fresh_secret
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.shamir import value_at

SITES, THRESHOLD, LENGTH = 5, 3, 4088 + 60
SCORES = [1.0, 0.7, 0.5, 0.9, 0.8]


@pytest.fixture
def updates() -> np.ndarray:
    return np.random.default_rng(5).normal(0, 0.02, (SITES, LENGTH)).astype(np.float32)


@pytest.fixture
def cohort(make_cohort, updates):
    """Five sites, the first four of them members; "e" is none."""
    cohort = make_cohort(SITES, members=4, threshold=THRESHOLD, tolerated=2, length=LENGTH)
    cohort.send(updates, SCORES)
    return cohort


def shares_of(cohort, members: str, victim: str) -> dict[int, np.ndarray]:
    """What colluding members hold of the victim's key."""
    # members who break the protocol and show their shares
    return {cohort.about.committee.point(name): cohort.members[name]._shares[victim][:RING_DEGREE] for name in members}


def test_the_server_alone_reads_nothing(cohort, attacker, updates) -> None:
    """It has all frames, shares and answers, sealed, and may try keys: one, one of its own, the frame itself."""
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    guesses = [np.ones(RING_DEGREE, np.uint64), fresh_secret()[:RING_DEGREE], attacker.numbers(cohort, "b")[0]]
    assert all(attacker.part_read(cohort, "b", guess, updates[1]) < 0.001 for guess in guesses)
    for answer in cohort.answers(aggregate, certificate):
        for reader in ("a", "server"):
            with pytest.raises(FrameRejected):
                read_answer(answer, cohort.about, aggregate.claimed, sealing=SealingKey(), reader=reader)


def test_a_frame_looks_like_random_numbers_whatever_is_in_it(make_cohort, attacker) -> None:
    """Byte counts of frames of zeros and of large values: chi-square over 256 values, within six deviations of 255."""
    for size in (0.0, 7.9):
        cohort = make_cohort(SITES, length=4088)
        cohort.uploads["a"] = cohort.upload("a", np.full(4088, size, np.float32), 1.0)
        low_bytes = (attacker.numbers(cohort, "a") >> np.uint64(44)).astype(np.uint8)
        counts = np.bincount(low_bytes.ravel(), minlength=256)
        chi_square = float(((counts - counts.mean()) ** 2 / counts.mean()).sum())
        assert abs(chi_square - 255) < 6 * np.sqrt(2 * 255)


def test_the_server_and_fewer_members_than_the_threshold_read_nothing(cohort, attacker, updates) -> None:
    """Their shares fit every key there is: for any wanted one there is a share that would complete it."""
    known = shares_of(cohort, "ac", "b")
    assert attacker.part_read(cohort, "b", value_at(known, 0), updates[1]) < 0.001
    wanted = fresh_secret()[:RING_DEGREE]
    completing = {2: value_at({0: wanted} | known, 2)}
    assert np.array_equal(value_at(known | completing, 0), wanted)


def test_the_server_and_a_threshold_of_members_read_everything(cohort, attacker, updates) -> None:
    """The control, and the limit of what joint keys give."""
    key = value_at(shares_of(cohort, "acd", "b"), 0)
    assert attacker.part_read(cohort, "b", key, updates[1]) == 1.0


def test_the_server_and_a_site_that_is_no_member_read_the_sum_and_no_more(cohort, attacker, updates) -> None:
    total = attacker.opened_key(cohort, "e")
    aggregate, plan = cohort.aggregate(), cohort.about.plan
    sums = attacker.read(cohort.about, attacker.rows(aggregate.payload), total)
    mean = (sums.ravel()[:LENGTH] * 2.0**-plan.grid_bits / aggregate.claimed.claim.total).astype(np.float32)
    weights = [part.weight for part in aggregate.claimed.claim]
    assert mean == pytest.approx(np.average(updates, axis=0, weights=weights), abs=1e-6)
    for victim in range(4):
        for key in (total, combined([(total, pow(weights[victim], -1, PRIME))])):
            assert attacker.part_read(cohort, "abcd"[victim], key, updates[victim]) < 0.001


def test_answers_of_every_member_give_the_sum_of_keys_and_no_single_one(cohort, attacker, updates) -> None:
    """A site that opens all answers: no answer, and no combination of two, is a share of one site's key."""
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    answers = [
        read_answer(answer, cohort.about, aggregate.claimed, sealing=cohort.sealing["e"], reader="e").total[
            :RING_DEGREE
        ]
        for answer in cohort.answers(aggregate, certificate)
    ]
    candidates = [*answers, *(combined([(a, 1), (b, -1)]) for a in answers for b in answers if a is not b)]
    assert all(attacker.part_read(cohort, "b", key, updates[1]) < 0.001 for key in candidates[:8])
