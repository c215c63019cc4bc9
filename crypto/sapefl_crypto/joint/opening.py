"""A site opens a round's sum: certificate, answers, sum of keys, whole numbers, tags, mean.

    sum_k + a_k · S = Σ w_c (step · m_c + e_c)

Rounding to the step removes the errors altogether, so the mean is bit for bit the one the same numbers give in the
clear.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.tags import IntegerTags, TagRoot
from sapefl_crypto.packing import unpack
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
    sealing: SealingKey,
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
    key = recombine(about, aggregate.claimed, read)
    return Opened(mean=mean_under(about, aggregate, key, root), complaints=(*refused, *key.complaints))


def mean_under(about: JointRound, aggregate: JointAggregate, key: SumKey, root: TagRoot) -> Vector:
    """The mean under a sum of keys, every chunk checked against its noise bound and its tags."""
    plan, claim = about.plan, aggregate.claimed.claim
    tagger = root.tagger(about.occasion, plan.data_slots)
    offsets = _summed_offsets(about, claim, tagger)
    bound = plan.noise(part.weight for part in claim)
    mean, start = np.empty((about.chunks, plan.data_slots), np.float32), 0
    for products in _products(about, key):
        rows = slice(start, start + len(products))
        places = added(_rows(aggregate.payload, plan.chunk_bytes, rows), products)
        whole, noise = _rounded(centred(places[:, :-TAGS]), plan.step_bits)
        off = tagger.residuals(whole, places[:, -TAGS:], offsets[rows])
        if noise > bound or int(off.max()) > bound:
            raise AggregateRejected(
                "tags",
                f"{about}, chunks from {start}: off by {max(noise, int(off.max())):.1e}, allowed {bound:.1e}. This is "
                "not the sum the server claims, or not its key; keep the old model and tell the cohort.",
            )
        mean[rows] = whole * 2.0**-plan.grid_bits / claim.total
        start = rows.stop
    return mean.reshape(-1)[: about.length]


def _products(about: JointRound, key: SumKey) -> Iterator[Coefficients]:
    """a_k · S, group by group. SEAL stumbles over a few keys that no honest round has, such as zero."""
    try:
        yield from Multiplier(key.numbers).products(about.occasion.public_seed, about.chunks)
    except (RuntimeError, CryptoError):
        raise AggregateRejected(
            "shares", f"{about}: members' answers amount to no key; keep the old model and tell the cohort."
        ) from None


def _read(
    about: JointRound, aggregate: JointAggregate, answers: Iterable[bytes], reader: str, sealing: SealingKey
) -> tuple[list[Answer], list[str]]:
    """Answers that can be read, and why the others cannot."""
    read, refused = [], []
    for answer in answers:
        try:
            read.append(read_answer(answer, about, aggregate.claimed, sealing=sealing, reader=reader))
        except FrameRejected as error:
            refused.append(str(error))
    return read, refused


def _rows(payload: bytes, size: int, rows: slice) -> Coefficients:
    view = memoryview(payload)
    numbers = np.stack([unpack(view[row * size : (row + 1) * size]) for row in range(rows.start, rows.stop)])
    if int(numbers.max()) >= PRIME:
        raise AggregateRejected("format", "a number is not below the prime; ask the server to send it again.")
    return numbers


def _rounded(values: Integers, step_bits: int) -> tuple[Integers, int]:
    """Whole steps, and how far the values are from them at most."""
    whole = values + (1 << step_bits - 1) >> step_bits
    return whole, int(np.abs(values - (whole << step_bits)).max())


def _summed_offsets(about: JointRound, claim: Claim, tagger: IntegerTags) -> Coefficients:
    """Σ w_c t_ck modulo q, for every chunk and tag."""
    return combined((tagger.offsets(part.sender, part.nonce, about.chunks), part.weight) for part in claim)
