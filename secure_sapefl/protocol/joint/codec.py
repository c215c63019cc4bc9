"""What sites of a study with joint keys open and seal outside the committee's legs: sums, and models for peers."""

import logging
from collections.abc import Mapping

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.sealed_vector import open_vector_of, seal_vector_for, vector_readers
from sapefl_crypto.joint.sealing import LastingKey
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.protocol.joint.site import JointHolder
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import readers_of

_log = logging.getLogger(__name__)


class JointCodec:
    """``holders`` are the sites in this process: one at a site, all of them in a simulation. Each opens what was sealed
    for it and nothing else. ``policy`` holds the site's conditions on sums, in place of the holder's own."""

    def __init__(
        self, terms: JointTerms, holders: Mapping[SiteId, JointHolder], policy: JointPolicy | None = None
    ) -> None:
        self._terms, self._holders, self._policy = terms, holders, policy

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:  # noqa: ARG002 - in the terms
        """Read by the first site here; every site that reads it reads the same."""
        holder = next(iter(self._holders.values()))
        opened = OpenableSum.from_bytes(aggregate).open(
            lambda attempt: self._terms.about(round_index, attempt),
            reader=holder.name,
            key=LastingKey(holder.identity),
            root=holder.root,
            policy=self._policy or holder.policy,
        )
        for complaint in opened.complaints:
            _log.warning(complaint, extra={"round": round_index, "site": holder.name})
        return opened.mean

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        """For the peers that the study's seed draws, and for nobody else."""
        readers = self._terms.readers_among(readers_of(self._terms.study, sender, round_index))
        identity = self._holders[sender].identity
        return seal_vector_for(readers, vector, identity=identity, study=study, round_index=round_index)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        reader = next((name for name in vector_readers(blob) if name in self._holders), None)
        if reader is None or sender not in self._terms.roster:
            raise FrameRejected(f"Model of {sender!r}, round {round_index}: it was not sealed for this site.")
        key = LastingKey(self._holders[reader].identity)
        return open_vector_of(
            self._terms.roster[sender], blob, reader=reader, key=key, study=study, round_index=round_index
        )
