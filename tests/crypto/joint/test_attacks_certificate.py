"""Without the certificate a server steals one site's key, though every member answers once. With it, it does not.

Two thefts. *Two claims*: the server has f accomplices on the committee and shows one half of the honest members a claim
with the victim, the other half one without. Each half completes a sum of keys with the accomplices' shares; the
difference is the victim's key. Every single claim is one that members would sign. *Other weights*: without any
accomplice on the committee the server shows member j the victim's weight as L / j. In the combination of answers that
cancels all polynomials of degree below k - 1, everybody else vanishes and L times the victim's key stays.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, Claim
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.certificate import Certificate, sign_claim
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, combined
from sapefl_crypto.joint.member import Member
from sapefl_crypto.joint.shamir import value_at

SIZES = [(4, 3, 2), (7, 5, 3), (15, 10, 5)]
VICTIM, READER = "b", "a"
NO_CERTIFICATE = Certificate(digest=b"", signatures={})


@pytest.fixture
def updates() -> np.ndarray:
    return np.random.default_rng(6).normal(0, 0.02, (16, 50)).astype(np.float32)


def cohort_of(make_cohort, updates: np.ndarray, members: int, threshold: int, tolerated: int):
    """One site more than members, so that a claim without the victim still has enough senders."""
    sites = members + 1
    cohort = make_cohort(sites, members=members, threshold=threshold, tolerated=tolerated, length=50)
    cohort.send(updates[:sites], np.linspace(0.6, 1.0, sites))
    return cohort


def total_of(cohort, claimed: JointClaim, answer: bytes) -> np.ndarray:
    """A member's share of the sum of keys, as the colluding site that is the reader opens it."""
    read = read_answer(answer, cohort.about, claimed, sealing=cohort.sealing[READER], reader=READER)
    return read.total[:RING_DEGREE]


def without_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Certificate, "check", lambda *_: None)


# two claims


def two_claims(cohort) -> dict[JointClaim, list[str]]:
    """Each claim and the honest members who are shown it; accomplices are the committee's last."""
    committee = cohort.about.committee
    honest = list(committee.members)[: len(committee.members) - committee.tolerated]
    needed = committee.threshold - committee.tolerated
    with_victim, without = cohort.aggregate(), cohort.aggregate([name for name in cohort.names if name != VICTIM])
    return {with_victim.claimed: honest[:needed], without.claimed: honest[needed : 2 * needed]}


def key_from_two_claims(cohort) -> np.ndarray:
    committee, sums = cohort.about.committee, []
    accomplices = committee.members[-committee.tolerated :]
    for claimed, shown in two_claims(cohort).items():
        answers = {
            name: total_of(cohort, claimed, cohort.members[name].answer(claimed, NO_CERTIFICATE)) for name in shown
        }
        # accomplices hand over what an honest member keeps
        answers |= {name: cohort.members[name]._numbers(claimed)[:RING_DEGREE] for name in accomplices}
        sums.append(value_at({committee.point(name): answer for name, answer in answers.items()}, 0))
    weight = cohort.aggregate().claimed.claim.weights[VICTIM]
    return combined([(sums[0], pow(weight, -1, PRIME)), (sums[1], -pow(weight, -1, PRIME))])


@pytest.mark.parametrize(("members", "threshold", "tolerated"), SIZES)
def test_two_claims_to_two_halves_steal_a_key_where_no_certificate_is_asked(
    make_cohort, attacker, updates, members: int, threshold: int, tolerated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort = cohort_of(make_cohort, updates, members, threshold, tolerated)
    without_certificates(monkeypatch)
    assert attacker.part_read(cohort, VICTIM, key_from_two_claims(cohort), updates[1]) == 1.0


@pytest.mark.parametrize(("members", "threshold", "tolerated"), SIZES)
def test_two_claims_are_never_both_certified(
    make_cohort, updates, members: int, threshold: int, tolerated: int
) -> None:
    """Accomplices sign everything; honest members sign what they are shown, once. Neither claim finds a quorum."""
    cohort = cohort_of(make_cohort, updates, members, threshold, tolerated)
    accomplices = cohort.about.committee.members[-tolerated:]
    for claimed, shown in two_claims(cohort).items():
        signatures = {name: sign_claim(cohort.identities[name], claimed) for name in accomplices}
        signatures |= {name: cohort.members[name].endorse(claimed) for name in shown}
        certificate = Certificate(digest=claimed.digest, signatures=signatures)
        for name in shown:
            with pytest.raises(AggregateRejected, match=f"{len(signatures)} of {members} members signed"):
                cohort.members[name].answer(claimed, certificate)
    first, second = two_claims(cohort)
    for name in two_claims(cohort)[first]:
        with pytest.raises(AggregateRejected, match="signed another claim"):
            cohort.members[name].endorse(second)


# other weights


def weighted_claims(cohort) -> dict[str, JointClaim]:
    """For every member the claim in which the victim's weight is L / j."""
    committee, claimed = cohort.about.committee, cohort.aggregate().claimed
    common = math.lcm(*range(1, len(committee.members) + 1))
    return {name: reweighed(claimed, common // committee.point(name)) for name in committee.members}


def reweighed(claimed: JointClaim, weight: int) -> JointClaim:
    parts = (replace(part, weight=weight) if part.sender == VICTIM else part for part in claimed.claim)
    return replace(claimed, claim=Claim(tuple(parts)))


def key_from_weights(cohort, answers: dict[str, np.ndarray]) -> np.ndarray:
    """Σ P(j) / (D'(j) · j) = -P(0) / D(0) for D = Π (x - j) and every P of degree below k."""
    points = [cohort.about.committee.point(name) for name in answers]
    common = math.lcm(*points)
    slopes = {own: math.prod(own - other for other in points if other != own) for own in points}
    at_zero = math.prod(-point for point in points)
    scale = -at_zero * pow(common, -1, PRIME)
    return combined(
        (answer, pow(slopes[cohort.about.committee.point(name)], -1, PRIME) * scale) for name, answer in answers.items()
    )


@pytest.mark.parametrize(("members", "threshold", "tolerated"), SIZES)
def test_another_weight_for_every_member_steals_a_key_where_nothing_is_checked(
    make_cohort, attacker, updates, members: int, threshold: int, tolerated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort = cohort_of(make_cohort, updates, members, threshold, tolerated)
    without_certificates(monkeypatch)
    monkeypatch.setattr(Member, "_accept", lambda self, claimed: self._ledger.enter(self._about, claimed.digest))
    answers = {
        name: total_of(cohort, claimed, cohort.members[name].answer(claimed, NO_CERTIFICATE))
        for name, claimed in weighted_claims(cohort).items()
    }
    assert attacker.part_read(cohort, VICTIM, key_from_weights(cohort, answers), updates[1]) == 1.0


@pytest.mark.parametrize(("members", "threshold", "tolerated"), SIZES)
def test_the_certificate_alone_stops_it_and_so_does_the_signed_weight(
    make_cohort, updates, members: int, threshold: int, tolerated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort = cohort_of(make_cohort, updates, members, threshold, tolerated)
    claims = weighted_claims(cohort)
    for name, claimed in claims.items():
        with pytest.raises(AggregateRejected, match=r"another weight|not between"):
            cohort.members[name].endorse(claimed)
    monkeypatch.setattr(Member, "_accept", lambda self, claimed: self._ledger.enter(self._about, claimed.digest))
    signatures = {name: cohort.members[name].endorse(claimed) for name, claimed in claims.items()}
    for name, claimed in claims.items():
        certificate = Certificate(digest=claimed.digest, signatures=signatures)
        with pytest.raises(AggregateRejected, match=f"1 of {members} members signed"):
            cohort.members[name].answer(claimed, certificate)
