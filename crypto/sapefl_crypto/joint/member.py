"""A committee member for one occasion: it keeps others' shares, signs one claim, and answers that claim alone.

What it holds lives in memory for as long as this object does. Its ledger does not: the digest of the claim is written
there before it is signed, so that a member that crashed and came back cannot be led to sign another.
"""

import hashlib
from typing import Protocol

import numpy as np

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.answers import sealed_answer
from sapefl_crypto.joint.certificate import Certificate, sign_claim
from sapefl_crypto.joint.field import RING_DEGREE, Functionals, added, combined, uniform
from sapefl_crypto.joint.frames import Manifest, digest, read_manifest
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.round_key import CHECKS, SHARED_NUMBERS, share_context
from sapefl_crypto.joint.sealing import Readers, SealingKey
from sapefl_crypto.joint.shamir import read_share, wipe
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.seal import Coefficients
from sapefl_crypto.secret import Guarded, Secret


class ClaimLedger(Protocol):
    """Where a member keeps which claim it has signed, safe from a crash."""

    def enter(self, about: JointRound, digest: bytes) -> None:
        """Keep ``digest`` under `once`, on disk before returning; `AggregateRejected` if another one is there."""


class MemoryLedger:
    """A ledger for tests and simulations; it is as forgetful as its process."""

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}

    def enter(self, about: JointRound, digest: bytes) -> None:
        if self._entries.setdefault(once(about), digest) != digest:
            raise signed_another(about)


def signed_another(about: JointRound) -> AggregateRejected:
    return AggregateRejected("certificate", f"{about}: this site has signed another claim of this round; it signs one.")


class Member(Guarded):
    """``policy`` is the member's own; ``sealing`` the key it announced for this round."""

    __slots__ = ("_about", "_identity", "_ledger", "_manifests", "_policy", "_sealing", "_shares")

    def __init__(
        self,
        about: JointRound,
        *,
        identity: SiteIdentity,
        sealing: SealingKey,
        ledger: ClaimLedger,
        policy: JointPolicy | None = None,
    ) -> None:
        about.committee.point(identity.public.name)
        self._about = about
        self._identity = identity
        self._sealing = sealing
        self._ledger = ledger
        self._policy = policy or JointPolicy()
        self._manifests: dict[str, Manifest] = {}
        self._shares: dict[str, Coefficients] = {}

    def receive(self, signed_manifest: bytes, sealed: bytes) -> None:
        """Keep one sender's share; `FrameRejected` if it is not the sender's own or does not open (report it)."""
        manifest = read_manifest(signed_manifest, self._about)
        who = f"Sender {manifest.sender!r}, {self._about}"
        if manifest.sender in self._manifests and self._manifests[manifest.sender] != manifest:
            raise FrameRejected(f"{who}: it signed two frames; leave both out and ask the site.")
        committee, me = self._about.committee, self._identity.public.name
        point = committee.point(me)
        if digest(sealed) != manifest.share_digests[point - 1]:
            raise FrameRejected(f"{who}: the share for {me!r} is not the one the sender signed; ask for it again.")
        plain = self._sealing.unseal(sealed, context=share_context(self._about, manifest.sender, me))
        share = read_share(plain, point, threshold=committee.threshold, count=SHARED_NUMBERS)
        if share is None:
            raise FrameRejected(f"{who}: what it sealed for {me!r} is no share; leave the sender out.")
        self._manifests[manifest.sender], self._shares[manifest.sender] = manifest, share

    def endorse(self, claimed: JointClaim) -> bytes:
        """Sign a claim, if it is acceptable and the only one of this round."""
        self._accept(claimed)
        return sign_claim(self._identity, claimed)

    def answer(self, claimed: JointClaim, certificate: Certificate, also: Readers | None = None) -> bytes:
        """This member's share of the sum of keys, sealed for the senders (and ``also`` for other verified sites)."""
        certificate.check(self._about, claimed)
        self._accept(claimed)
        readers = {name: manifest.sealing for name, manifest in self._manifests.items()} | dict(also or {})
        return sealed_answer(self._about, claimed, self._identity, readers, self._numbers(claimed))

    def erase(self) -> None:
        wipe(self._shares.values())
        self._shares, self._manifests = {}, {}

    def _accept(self, claimed: JointClaim) -> None:
        claimed.check(self._about)
        self._check_parts(claimed)
        self._policy.check(self._about, claimed)
        self._ledger.enter(self._about, claimed.digest)

    def _check_parts(self, claimed: JointClaim) -> None:
        """Every part must be what its sender signed, and its share must be here."""
        if not claimed.claim.parts:
            raise AggregateRejected("format", f"{self._about}: an empty claim needs no committee.")
        for part in claimed.claim:
            signed = self._manifests.get(part.sender)
            if signed is None:
                raise AggregateRejected("shares", f"{self._about}: no share of {part.sender!r} has come here.")
            if (part.weight, part.nonce) != (signed.weight, signed.nonce):
                raise AggregateRejected(
                    "signed weight",
                    f"{self._about}: {part.sender!r} signed another weight or frame than the claim says.",
                )

    def _numbers(self, claimed: JointClaim) -> Coefficients:
        """Σ w · share, then for every sender the masked combinations of its share."""
        shares = np.stack([self._shares[part.sender] for part in claimed.claim])
        total = combined((share, part.weight) for share, part in zip(shares, claimed.claim, strict=True))
        return np.concatenate((total, masked_combinations(claimed, shares).ravel()))


def once(about: JointRound) -> bytes:
    """The ledger's key. Attempts share it: two opened sums over the same updates differ by what must stay closed."""
    return hashlib.sha256(bind("sapefl joint once 1", about.study, about.round_index, about.purpose)).digest()


def masked_combinations(claimed: JointClaim, shares: Coefficients) -> Coefficients:
    """<rho, [s_c]_j> + [r_c]_j for every row; rho comes from the claim, which came after the shares."""
    seed = Secret(hashlib.sha256(bind("sapefl joint rho 1", claimed.digest)).digest())
    rho = Functionals(uniform(seed, 0, CHECKS * RING_DEGREE).reshape(CHECKS, RING_DEGREE))
    return added(rho(shares[:, :RING_DEGREE].view(np.int64)), shares[:, RING_DEGREE:])
