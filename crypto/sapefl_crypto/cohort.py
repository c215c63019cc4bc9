"""The cohort key: what sites share and the server never holds. It encrypts, decrypts, tags, checks, seals and opens."""

import os
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.aggregate import Aggregate
from sapefl_crypto.claims import Claim, ClaimPolicy, checked_share
from sapefl_crypto.derivation import ROOT_BYTES, derive
from sapefl_crypto.envelope import open_vector, seal_vector
from sapefl_crypto.errors import AggregateRejected, KeyRejected, ParametersRejected, ValueRejected
from sapefl_crypto.frames import CHECKSUM_BYTES, NONCE_BYTES, Frame, checksum_holds, encoded_sender, with_checksum
from sapefl_crypto.hidden import hidden_mean, weighed
from sapefl_crypto.occasion import MAX_LENGTH, Kind, Occasion
from sapefl_crypto.packing import Chunks, checked, from_slots, pack, pieces, to_chunks, to_slots, unpack
from sapefl_crypto.parameters import PARAMETERS_BYTES, TAGS, Parameters
from sapefl_crypto.release import flooded
from sapefl_crypto.seal import PRIME_BITS, prime, ring_of
from sapefl_crypto.secret import Guarded, Secret
from sapefl_crypto.secret_ring import SecretRing
from sapefl_crypto.tags import Reals, TagMaker

_SECRET_MAGIC: Final = b"SPCK\x01"
_ROOT_START: Final = len(_SECRET_MAGIC) + PARAMETERS_BYTES

Vector = npt.NDArray[np.float32]
AnyVector = npt.NDArray[np.floating[Any]]


class CohortKey(Guarded):
    """One key for all sites of a study: a CKKS secret key and a 32-byte root from which all other keys are derived.

    Sites trust each other with it and the server with nothing; a server that colludes with a site wins. Give every
    study its own key, and every run its own study name: tags are bound to the name, not to the moment.
    """

    __slots__ = ("_releases", "_ring", "_root", "params")

    def __init__(self, params: Parameters, ring: SecretRing, root: Secret) -> None:
        self.params: Final = params
        self._ring = ring
        self._root = root
        self._releases = 0

    @classmethod
    def generate(cls, params: Parameters) -> "CohortKey":
        return cls(params, SecretRing(ring_of(params.ring_degree, params.scale)), Secret(os.urandom(ROOT_BYTES)))

    @property
    def fingerprint(self) -> str:
        """16 hex digits that tell keys apart and tell nothing about them."""
        return derive(self._root, "fingerprint", self.params.digest).reveal()[:8].hex()

    # encrypting

    def encrypt(self, vector: AnyVector, *, study: str, round_index: int, sender: str) -> bytes:
        """The vector as a frame for `Aggregator`, which will weigh it."""
        values = checked(vector, self.params)
        return self._encrypted(Kind.WEIGHTED, values, study, round_index, values.size, sender)

    def encrypt_weighted(
        self, vector: AnyVector, *, score: float, max_score: float, study: str, round_index: int, sender: str
    ) -> bytes:
        """The vector times its score, and the score, as a frame for `HiddenAggregator`, which only adds."""
        values = checked(vector, self.params)
        numbers = weighed(values, checked_share(score, max_score), self.params)
        return self._encrypted(Kind.HIDDEN, numbers, study, round_index, values.size, sender)

    def _encrypted(self, kind: Kind, numbers: Reals, study: str, round_index: int, length: int, sender: str) -> bytes:
        encoded_sender(sender)
        occasion = Occasion.bound_to(self.params, kind, study=study, round_index=round_index, length=length)
        frame = Frame(occasion=occasion, nonce=os.urandom(NONCE_BYTES), sender=sender, payload=b"")
        return replace(frame, payload=self.encrypt_chunks(frame, to_chunks(numbers, self.params))).to_bytes()

    def encrypt_chunks(self, frame: Frame, chunks: Chunks) -> bytes:
        """Payload bytes of a frame, each chunk with its tags."""
        tagger = TagMaker(self._root, self.params, frame.occasion)
        tags = tagger.tags(chunks, tagger.offsets(frame.sender, frame.nonce, len(chunks)))
        return b"".join(pack(one) + seed for one, seed in map(self._ring.encrypt, to_slots(np.hstack((chunks, tags)))))

    # decrypting

    def decrypt(
        self, aggregate: Aggregate, *, study: str, round_index: int, policy: ClaimPolicy | None = None
    ) -> Vector | None:
        """The weighted mean, after checking that it is one; None where the aggregate says ``unchanged``.

        Raises `AggregateRejected` when the sum is not the claimed one, or the claim breaks ``policy``.
        """
        policy = policy or ClaimPolicy()
        self._check_claim(aggregate, study, round_index, policy)
        return None if aggregate.unchanged else self._unpacked(aggregate, self.decrypt_chunks(aggregate), policy)

    def _check_claim(self, aggregate: Aggregate, study: str, round_index: int, policy: ClaimPolicy) -> None:
        """All that can be checked before decrypting anything. The length is the tags' to prove."""
        kind, length = aggregate.occasion.kind, aggregate.occasion.length
        if not 1 <= length <= MAX_LENGTH:
            raise AggregateRejected("format", f"Round {round_index}: a vector of {length} values is none of ours.")
        expected = Occasion.bound_to(self.params, kind, study=study, round_index=round_index, length=length)
        aggregate.check(self.params, expected)
        policy.check(aggregate.claim, kind, self.params.weight_bits)

    def decrypt_chunks(self, aggregate: Aggregate) -> Chunks:
        """The mean of every chunk in the payload, each checked against its tags."""
        tagger, claim = TagMaker(self._root, self.params, aggregate.occasion), aggregate.claim
        means, tags = self._decrypt_means(aggregate.payload, claim.total)
        residuals = tagger.residuals(means, tags, _mean_offsets(tagger, claim, len(means)))
        tolerance = tagger.tolerance(claim.shares.values())
        for index in np.flatnonzero(~(residuals <= tolerance).all(1)):
            raise AggregateRejected(
                "tags",
                f"Round {aggregate.occasion.round_index}, chunk {index}: off by {residuals[index].max():.1e}, "
                f"allowed {tolerance:.1e}. This is not the sum the server claims; keep the old model and tell the "
                "cohort.",
            )
        return means

    def _decrypt_means(self, payload: bytes, total: int) -> tuple[Chunks, Reals]:
        """Data and tags of every chunk, divided by the sum of the weights."""
        parts = pieces(payload, self.params.sum_chunk_bytes)
        means, tags = np.empty((len(parts), self.params.data_slots)), np.empty((len(parts), TAGS))
        try:
            numbers = (unpack(part, below=prime(self.params.ring_degree)) for part in parts)
            for index, slots in enumerate(self._ring.decrypt(numbers)):
                places = from_slots(slots)
                np.divide(places[:-TAGS], total, out=means[index])
                np.divide(places[-TAGS:], total, out=tags[index])
        except (ValueRejected, RuntimeError, ValueError) as error:
            what = str(error) if isinstance(error, ValueRejected) else "SEAL refused a chunk"
            raise AggregateRejected("format", f"{what}; ask the server to send it again.") from None
        return means, tags

    def _unpacked(self, aggregate: Aggregate, means: Chunks, policy: ClaimPolicy) -> Vector | None:
        """Chunks to vector. A hidden mean is divided by the mean share it carries; None where that is nothing."""
        kind, total = aggregate.occasion.kind, aggregate.claim.total
        places = kind.places(aggregate.occasion.length)
        sums = self.params.on_grid(means.reshape(-1)[:places] * total)
        if kind is Kind.WEIGHTED:
            return (sums / total).astype(np.float32)
        found = hidden_mean(sums, total, self.params)
        if found is None:
            return None
        policy.check_mixing(total, found.effective)
        return found.vector

    # relaying, releasing, storing

    def seal(self, vector: AnyVector, *, study: str, round_index: int, sender: str) -> bytes:
        """The vector for the other sites' eyes, relayed by a server that computes nothing on it."""
        key = self._envelope_key(study)
        return seal_vector(key.reveal(), vector, study=study, round_index=round_index, sender=sender)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        key = self._envelope_key(study)
        return open_vector(key.reveal(), blob, study=study, round_index=round_index, sender=sender)

    def _envelope_key(self, study: str) -> Secret:
        return derive(self._root, "envelope", study)

    def decode_for_release(self, vector: AnyVector, *, decryptions: int, earlier_releases: int) -> Vector:
        """The vector for people without the key (release.py says why it needs noise).

        ``decryptions`` decrypted means were summed into it; ``earlier_releases`` comes from the site's ledger, and the
        key counts its own on top, so forgetting to write one down does not buy another.
        """
        counted = max(earlier_releases, self._releases)
        released = flooded(vector, self.params, decryptions=decryptions, earlier_releases=counted)
        self._releases = counted + 1
        return released

    def export_secret(self) -> bytes:
        """The key in the clear, for a key file or for sealing to a site, and for nothing else."""
        numbers = pack(self._ring.secret_coefficients())
        return with_checksum(_SECRET_MAGIC, self.params.to_bytes(), self._root.reveal(), numbers)

    @classmethod
    def from_secret(cls, data: bytes) -> "CohortKey":
        """The key from `export_secret`; `KeyRejected` for anything else, without quoting a byte of it."""
        read = _read_secret(data)
        del data  # a traceback that shows locals must not show it
        if isinstance(read, str):
            raise KeyRejected(f"{read} Ask the custodian for a new copy.")
        return read


def _read_secret(data: bytes) -> CohortKey | str:
    """The key, or the sentence that says what is wrong with these bytes."""
    if not data.startswith(_SECRET_MAGIC) or not checksum_holds(data):
        return "This is not an intact cohort key of version 1."
    try:
        params = Parameters.from_bytes(data[len(_SECRET_MAGIC) : _ROOT_START])
    except ParametersRejected as error:
        return f"The cohort key was made for parameters this version refuses: {error}"
    root, packed = data[_ROOT_START : _ROOT_START + ROOT_BYTES], data[_ROOT_START + ROOT_BYTES : -CHECKSUM_BYTES]
    if len(packed) != params.ring_degree * PRIME_BITS // 8:
        return "The cohort key has the wrong length."
    try:
        numbers = unpack(packed, below=prime(params.ring_degree))
    except ValueRejected:
        return "The cohort key holds a number its ring does not have."
    return CohortKey(params, SecretRing(ring_of(params.ring_degree, params.scale), numbers), Secret(root))


def _mean_offsets(tagger: TagMaker, claim: Claim, count: int) -> Reals:
    """Σ w_c t_ck / Σ w_c for every chunk and tag."""
    total = np.zeros((count, TAGS))
    for part in claim:
        total += part.weight * tagger.offsets(part.sender, part.nonce, count)
    return total / claim.total
