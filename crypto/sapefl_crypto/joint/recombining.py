"""From members' answers to the sum of keys, finding answers and dealers that do not fit.

Answers of honest members lie on one polynomial of degree t - 1 in every place. One more than t shows whether they do;
of t + 2e, up to e wrong ones are found and left out (reed_solomon.py). A dealer of shares that fit no polynomial spoils
the sum. It is found by the masked combinations <rho, s_c> + r_c that every answer carries for every dealer: they must
lie on a polynomial of their own, and the mask r_c keeps them from saying more.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sapefl_crypto.derivation import ROOT_BYTES
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.answers import Answer
from sapefl_crypto.joint.field import RING_DEGREE, Functionals, uniform
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.reed_solomon import wrong_points
from sapefl_crypto.joint.shamir import consistent, value_at
from sapefl_crypto.seal import Coefficients
from sapefl_crypto.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class SumKey:
    """Σ w · s_c in NTT form, and what was wrong on the way, as sentences that name who."""

    numbers: Coefficients = field(repr=False)
    complaints: tuple[str, ...] = ()


def recombine(about: JointRound, claimed: JointClaim, answers: Sequence[Answer]) -> SumKey:
    """The sum of keys from at least t answers; with more, wrong ones are found, and named where that is possible."""
    committee = about.committee
    by_point = {committee.point(answer.member): answer for answer in answers}
    if len(by_point) < committee.threshold:
        raise AggregateRejected(
            "shares",
            f"{about}: {len(by_point)} members answered, {committee.threshold} are needed; the sum stays closed.",
        )
    totals = {point: answer.total for point, answer in by_point.items()}
    if consistent(totals, committee.threshold):
        return SumKey(numbers=_at_zero(totals, committee.threshold))
    wrong = wrong_points(_projected(totals), committee.threshold)
    dealers = _inconsistent_dealers(by_point, claimed, committee.threshold)
    if wrong is None:
        raise AggregateRejected("shares", f"{about}: {_unnamed(dealers)}")
    kept = {point: total for point, total in totals.items() if point not in wrong}
    complaints = tuple(_complaint(by_point[point].member, dealers) for point in sorted(wrong))
    return SumKey(numbers=_at_zero(kept, committee.threshold), complaints=complaints)


def _at_zero(totals: Mapping[int, Coefficients], threshold: int) -> Coefficients:
    return value_at({point: totals[point][:RING_DEGREE] for point in list(totals)[:threshold]}, 0)


def _projected(totals: Mapping[int, Coefficients]) -> dict[int, int]:
    """One random combination of every answer: where answers do not fit, these do not either, but for chance 2^-60."""
    count = len(next(iter(totals.values())))
    functional = Functionals(uniform(Secret(os.urandom(ROOT_BYTES)), 0, count).reshape(1, count))
    values = functional(np.stack(list(totals.values())).view(np.int64))
    return {point: int(value) for point, value in zip(totals, values[:, 0], strict=True)}


def _inconsistent_dealers(by_point: Mapping[int, Answer], claimed: JointClaim, threshold: int) -> list[str]:
    return [
        part.sender
        for row, part in enumerate(claimed.claim)
        if not consistent({point: answer.checks[row] for point, answer in by_point.items()}, threshold)
    ]


def _unnamed(dealers: list[str]) -> str:
    if dealers:
        return f"the shares that {', '.join(dealers)} dealt fit no key; begin the next round without them."
    return "members' answers contradict each other, and too many to say whose are wrong; ask more members to answer."


def _complaint(member: str, dealers: list[str]) -> str:
    if dealers:
        return f"the answer of {member!r} is wrong, or what {', '.join(dealers)} dealt to it"
    return f"the answer of {member!r} is wrong"
