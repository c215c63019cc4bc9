"""The site's side of a joint round: a key that exists once, encrypts once, is dealt to the committee, and is gone.

    c0_k = -a_k · s + e + step · m_k     (mod q), tags in place of step · m_k in the last eight places

a_k is public, s uniform in the ring and fresh for every round, attempt and purpose, e a rounded Gaussian. All that does
not need the vector is done when the key is made, so that it can be done while the model still trains.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.binding import bind
from sapefl_crypto.claims import quantise_score
from sapefl_crypto.derivation import ROOT_BYTES
from sapefl_crypto.errors import KeyRejected, ValueRejected
from sapefl_crypto.gaussian import normals
from sapefl_crypto.joint.field import PRIME_BITS, RING_DEGREE, Integers, added, negated, uniform, with_signed
from sapefl_crypto.joint.frames import Manifest, digest, nonce_of
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.ring import Multiplier
from sapefl_crypto.joint.rows import BLOCK, ROW_BYTES, Packed, blocks, pack_rows
from sapefl_crypto.joint.sealing import SEALING_BYTES, Readers, seal
from sapefl_crypto.joint.shamir import DealtShares, wipe
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.packing import bounded
from sapefl_crypto.seal import Coefficients
from sapefl_crypto.secret import Guarded, Secret

CHECKS: Final = 2
"""Numbers a dealer shares beside its key: they mask the combinations by which shares are compared (recombining.py)."""
SHARED_NUMBERS: Final = RING_DEGREE + CHECKS

AnyVector = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What leaves a site: the frame for the server, a sealed share for every member. A retry sends the same bytes."""

    frame: bytes = field(repr=False)
    shares: Mapping[str, bytes] = field(repr=False)


class RoundKey(Guarded):
    """One site's key for one occasion. It encrypts one vector, once: a second would show the difference of the two.

    The key itself is gone as soon as it is made: what remains is one mask for every chunk, and the shares, sealed for
    the round's ``members`` (their public sealing keys, see `sealing.announced`). Who is on the committee and announced
    none is away: there is no share for it, and it takes as many of the others as ever.
    """

    __slots__ = ("_about", "_masks", "_nonce", "_sender", "_shares")

    def __init__(self, about: JointRound, *, sender: str, members: Readers) -> None:
        require_members(about, members)
        secret = fresh_secret()
        self._about = about
        self._sender = sender
        self._shares = _sealed_shares(about, sender, members, secret)
        self._nonce = nonce_of(sender, tuple(map(digest, self._shares.values())))
        self._masks: Coefficients | None = _masks(about, secret[:RING_DEGREE])
        wipe([secret])

    def encrypt(
        self, vector: AnyVector, *, score: float, root: TagRoot, identity: SiteIdentity, sealing: bytes
    ) -> Upload:
        """The vector, to be weighed by its score when it is added, signed by the site.

        ``sealing`` is this site's own public sealing key of the round, for which answers will be sealed.
        """
        about = self._about
        if identity.public.name != self._sender:
            raise ValueRejected(f"{about}: this key is {self._sender!r}'s, the identity {identity.public.name!r}'s.")
        weight = quantise_score(score, about.max_score, about.plan.weight_bits)
        numbers = whole_numbers(vector, about)
        payload = self._payload(self._spend(), numbers, root)
        manifest = Manifest(
            occasion=about.occasion, nonce=self._nonce, score=score, weight=weight, sealing=sealing,
            payload_digest=digest(payload.data), sender=self._sender,
            share_digests=tuple(map(digest, self._shares.values())),
        )  # fmt: skip
        return Upload(frame=b"".join((manifest.signed(identity), payload.data)), shares=self._shares)

    def erase(self) -> None:
        """Forget the key, used or not."""
        if self._masks is not None:
            wipe([self._masks])
        self._masks = None

    def _spend(self) -> Coefficients:
        if self._masks is None:
            raise KeyRejected(
                f"{self._about}: this key has encrypted its one vector or was erased. Send the same bytes again, or "
                "begin a new attempt with a new key."
            )
        masks, self._masks = self._masks, None
        return masks

    def _payload(self, masks: Coefficients, numbers: Integers, root: TagRoot) -> Packed:
        plan = self._about.plan
        tagger = root.tagger(self._about.occasion, plan.data_slots)
        tags = tagger.tags(numbers, tagger.offsets(self._sender, self._nonce, len(numbers)))
        masks[:, plan.data_slots :] = added(masks[:, plan.data_slots :], tags)
        payload = np.empty((len(masks), ROW_BYTES), np.uint8)
        for rows in blocks(len(masks)):
            data = masks[rows, : plan.data_slots]
            data[:] = with_signed(data, numbers[rows] << plan.step_bits)
            pack_rows(masks[rows], payload[rows])
        return payload


def require_members(about: JointRound, members: Readers) -> None:
    committee = about.committee
    if strangers := sorted(set(members) - set(committee.members)):
        raise ValueRejected(f"{about}: shares go to the committee, and {strangers[0]!r} is not on it.")
    if len(members) < committee.needed:
        raise ValueRejected(
            f"{about}: {len(members)} of {len(committee.members)} members are here, {committee.needed} are needed to "
            "open a sum; wait for the others."
        )


def fresh_secret() -> Coefficients:
    """A uniform ring element in NTT form, and the dealer's masks: all numbers that are shared."""
    return uniform(Secret(os.urandom(ROOT_BYTES)), 0, SHARED_NUMBERS)


def whole_numbers(vector: AnyVector, about: JointRound) -> Integers:
    """The vector in grid steps, as rows of a chunk's values each, the last one filled with zeros."""
    values = bounded(vector, about.plan.max_abs_value)
    if values.size != about.length:
        raise ValueRejected(f"{about}: {values.size} values, the round is about vectors of {about.length}.")
    numbers = np.zeros((about.chunks, about.plan.data_slots), np.int64)
    flat, size = numbers.reshape(-1), BLOCK * RING_DEGREE
    for start in range(0, values.size, size):
        piece = values[start : start + size] * np.float64(2**about.plan.grid_bits)
        flat[start : start + piece.size] = np.rint(piece, out=piece)
    return numbers


def share_context(about: JointRound, sender: str, member: str) -> bytes:
    """What a sealed share is bound to; the sender's manifest binds it to the frame."""
    return bind("sapefl joint share 1", about.occasion.to_bytes(), sender, member)


def bytes_of_shares(members: int, threshold: int) -> int:
    """Of one key, sealed for all members: seeds below the threshold, numbers from there on."""
    whole = members - threshold + 1
    plain = (threshold - 1) * ROOT_BYTES + whole * (SHARED_NUMBERS * PRIME_BITS // 8)
    return plain + members * SEALING_BYTES


def _sealed_shares(about: JointRound, sender: str, members: Readers, secret: Coefficients) -> dict[str, bytes]:
    committee = about.committee
    dealt = DealtShares(secret, threshold=committee.threshold, members=len(committee.members))
    sealed = {
        name: seal(members[name], plain, context=share_context(about, sender, name)) if name in members else b""
        for name, plain in zip(committee.members, dealt.plain(), strict=True)
    }
    dealt.erase()
    return sealed


def _masks(about: JointRound, secret: Coefficients) -> Coefficients:
    """e - a_k · s for every chunk, as coefficients."""
    masks = np.empty((about.chunks, RING_DEGREE), np.uint64)
    seed, start = Secret(os.urandom(ROOT_BYTES)), 0
    for products in Multiplier(secret).products(about.occasion.public_seed, about.chunks):
        errors = rounded_gaussian(seed, about.plan.sigma, products.shape, start)
        masks[start : start + len(products)] = with_signed(negated(products), errors)
        start += len(products)
    return masks


def rounded_gaussian(seed: Secret, sigma: float, shape: tuple[int, ...], first_block: int) -> Integers:
    """Gaussian numbers of this width, rounded to whole ones: the error of the LWE problem."""
    drawn = normals(seed, int(np.prod(shape)), first_block)
    return np.rint(sigma * drawn, out=drawn).astype(np.int64).reshape(shape)
