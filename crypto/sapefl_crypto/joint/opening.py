"""A site opens a round's sum: certificate, answers, sum of keys, whole numbers, tags, mean.

    sum_k + a_k · S = Σ w_c (step · m_c + e_c)

Rounding to the step removes the errors altogether, so the mean is bit for bit the one the same numbers give in the
clear.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sapefl_crypto.claims import Claim
from sapefl_crypto.errors import AggregateRejected, CryptoError, FrameRejected
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.answers import Answer, read_answer
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.field import PRIME, Integers, added, centred, combined
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.recombining import SumKey, recombine
from sapefl_crypto.joint.ring import Multiplier
from sapefl_crypto.joint.rows import blocks, rows_of, unpack_rows
from sapefl_crypto.joint.sealing import Unsealer
from sapefl_crypto.joint.tags import IntegerTags, TagRoot
from sapefl_crypto.parameters import TAGS
from sapefl_crypto.seal import Coefficients

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The weighted mean, or None where nothing was added; and complaints about members and dealers, to be passed on."""

    mean: Vector | None = field(repr=False)
    complaints: tuple[str, ...] = ()


def open_mean(
    about: JointRound,
    aggregate: JointAggregate,
    certificate: Certificate | None,
    answers: Iterable[bytes],
    *,
    reader: str,
    sealing: Unsealer,
    root: TagRoot,
    policy: JointPolicy | None = None,
) -> Opened:
    """The mean, after everything about it was checked; `AggregateRejected` names the first check that fails."""
    aggregate.check(about)
    (policy or JointPolicy()).check(about, aggregate.claimed)
    if aggregate.unchanged:
        return Opened(mean=None)
    if certificate is None:
        raise AggregateRejected("certificate", f"{about}: the sum comes without one; ask the server for it.")
    certificate.check(about, aggregate.claimed)
    read, refused = _read(about, aggregate, answers, reader, sealing)
    opened = _open(about, aggregate, read, root)
    return replace(opened, complaints=(*refused, *opened.complaints))


def _open(about: JointRound, aggregate: JointAggregate, answers: Sequence[Answer], root: TagRoot) -> Opened:
    """By all answers; if these contradict each other, and too few are there to say whose is wrong, by all but one."""
    try:
        return _opened_by(about, aggregate, answers, root)
    except AggregateRejected as error:
        if error.check != "shares" or len(answers) <= about.committee.threshold:
            raise
        for one in answers:
            with suppress(AggregateRejected):
                return _without(about, aggregate, answers, one, root)
        raise


def _without(
    about: JointRound, aggregate: JointAggregate, answers: Sequence[Answer], left_out: Answer, root: TagRoot
) -> Opened:
    """A key that is wrong in one number opens to noise and wrong tags: so this raises unless the others' key is right.

    Two liars who agree can have an honest member left out, whose answer does not fit theirs; the sum is right even so.
    """
    opened = _opened_by(about, aggregate, [one for one in answers if one.member != left_out.member], root)
    return replace(
        opened, complaints=(f"the answer of {left_out.member!r} is wrong, or what was dealt to it; or two others lie",)
    )


def _opened_by(about: JointRound, aggregate: JointAggregate, answers: Sequence[Answer], root: TagRoot) -> Opened:
    key = recombine(about, aggregate.claimed, answers)
    return Opened(mean=mean_under(about, aggregate, key, root), complaints=key.complaints)


def mean_under(about: JointRound, aggregate: JointAggregate, key: SumKey, root: TagRoot) -> Vector:
    """The mean under a sum of keys, every chunk checked against its noise bound and its tags."""
    plan, claim = about.plan, aggregate.claimed.claim
    whole, tags, noise = _whole_numbers(about, aggregate, key)
    tagger = root.tagger(about.occasion, plan.data_slots)
    off = max(noise, int(tagger.residuals(whole, tags, _summed_offsets(about, claim, tagger)).max()))
    bound = plan.noise(part.weight for part in claim)
    if off > bound:
        raise AggregateRejected(
            "tags",
            f"{about}: off by {off:.1e}, allowed {bound:.1e}. This is not the sum the server claims, or not its key; "
            "keep the old model and tell the cohort.",
        )
    mean = np.empty(whole.shape, np.float32)
    for rows in blocks(len(whole)):
        mean[rows] = whole[rows] * 2.0**-plan.grid_bits / claim.total
    return mean.reshape(-1)[: about.length]


def _whole_numbers(about: JointRound, aggregate: JointAggregate, key: SumKey) -> tuple[Integers, Coefficients, int]:
    """Every chunk in whole steps, its tags, and how far any value was from a whole step."""
    packed, step = rows_of(aggregate.payload), about.plan.step_bits
    whole = np.empty((about.chunks, about.plan.data_slots), np.int64)
    tags, noise, start = np.empty((about.chunks, TAGS), np.uint64), 0, 0
    for products in _products(about, key):
        for rows in blocks(len(products)):
            at = slice(start, start + len(products[rows]))
            places = added(_below_prime(unpack_rows(packed[at])), products[rows])
            tags[at] = places[:, -TAGS:]
            noise = max(noise, _round(centred(places[:, :-TAGS]), step, whole[at]))
            start = at.stop
    return whole, tags, noise


def _round(values: Integers, step_bits: int, into: Integers) -> int:
    """Values in whole steps, and how far they are from them at most."""
    half = 1 << step_bits - 1
    values += half
    np.right_shift(values, step_bits, out=into)
    values &= (1 << step_bits) - 1
    return max(int(values.max()) - half, half - int(values.min()))


def _products(about: JointRound, key: SumKey) -> Iterator[Coefficients]:
    """a_k · S, group by group. SEAL stumbles over a few keys that no honest round has, such as zero."""
    try:
        yield from Multiplier(key.numbers).products(about.occasion.public_seed, about.chunks)
    except (RuntimeError, CryptoError):
        raise AggregateRejected(
            "shares", f"{about}: members' answers amount to no key; keep the old model and tell the cohort."
        ) from None


def _read(
    about: JointRound, aggregate: JointAggregate, answers: Iterable[bytes], reader: str, sealing: Unsealer
) -> tuple[list[Answer], list[str]]:
    """Answers that can be read, and why the others cannot."""
    read, refused = [], []
    for answer in answers:
        try:
            read.append(read_answer(answer, about, aggregate.claimed, sealing=sealing, reader=reader))
        except FrameRejected as error:
            refused.append(str(error))
    return read, refused


def _below_prime(numbers: Coefficients) -> Coefficients:
    if int(numbers.max()) >= PRIME:
        raise AggregateRejected("format", "a number is not below the prime; ask the server to send it again.")
    return numbers


def _summed_offsets(about: JointRound, claim: Claim, tagger: IntegerTags) -> Coefficients:
    """Σ w_c t_ck modulo q, for every chunk and tag."""
    return combined((tagger.offsets(part.sender, part.nonce, about.chunks), part.weight) for part in claim)
