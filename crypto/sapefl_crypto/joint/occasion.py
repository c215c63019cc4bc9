"""The round a joint message belongs to: what all parties know of it, and the bytes that bind every message to it.

size  field                                            (integers big endian)
32    study digest, SHA-256 of its name
16    plan digest
16    committee digest
8     round
4     attempt
16    purpose, ASCII, padded with zeros
8     vector length
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields
from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.keys.identity import SitePublicKeys
from sapefl_crypto.occasion import MAX_LENGTH
from sapefl_crypto.secret import Secret

_FIELDS: Final = struct.Struct(">32s16s16sQI16sQ")
OCCASION_BYTES: Final = _FIELDS.size
_PURPOSE_BYTES: Final = 16
_DIFFERENCES: Final = {
    "study_digest": "made for another study",
    "plan_digest": "made for another plan; share one",
    "committee_digest": "made for another committee",
    "round_index": "made for another round",
    "attempt": "made for another attempt at this round",
    "purpose": "made for another purpose",
    "length": "of another length than the model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOccasion:
    study_digest: bytes
    plan_digest: bytes
    committee_digest: bytes
    round_index: int
    attempt: int
    purpose: bytes
    length: int

    def to_bytes(self) -> bytes:
        return _FIELDS.pack(*astuple(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> "JointOccasion":
        return cls(**dict(zip((each.name for each in fields(cls)), _FIELDS.unpack(data), strict=True)))

    def difference(self, other: "JointOccasion") -> str | None:
        """How ``other`` fails to be this occasion, as the end of a sentence; None when it does not."""
        return next((text for name, text in _DIFFERENCES.items() if getattr(self, name) != getattr(other, name)), None)

    @property
    def public_seed(self) -> Secret:
        """The key of the public polynomials' stream: not secret, and another one for every occasion."""
        return Secret(hashlib.sha256(bind("sapefl joint polynomials 1", self.to_bytes())).digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a sealing key is made for: one attempt at one round of one study, all purposes."""

    study: str
    round_index: int
    attempt: int = 0

    def to_bytes(self) -> bytes:
        return bind("sapefl joint moment 1", self.study, self.round_index, self.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRound:
    """What sites, members and server agree on before a round's first message.

    ``attempt`` counts fresh starts of one round; ``purpose`` tells vectors of one round apart, such as an update and
    its statistics. Each has keys of its own.
    """

    plan: JointPlan
    committee: Committee
    roster: Mapping[str, SitePublicKeys]
    study: str
    round_index: int
    length: int
    attempt: int = 0
    purpose: str = "update"
    max_score: float = 1.0
    occasion: JointOccasion = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.round_index < 2**63 or not 0 <= self.attempt < 2**32 or not 1 <= self.length <= MAX_LENGTH:
            raise ValueRejected(
                f"Round {self.round_index}, attempt {self.attempt}, {self.length} values: rounds and attempts count "
                "from 0, vectors hold at least 1."
            )
        if not (self.purpose.isascii() and self.purpose.isprintable() and 1 <= len(self.purpose) <= _PURPOSE_BYTES):
            raise ValueRejected(f"Purpose {self.purpose[:40]!r}: use 1 to {_PURPOSE_BYTES} printable ASCII characters.")
        if strangers := [name for name in self.committee.members if name not in self.roster]:
            raise ValueRejected(f"The committee names {strangers[0]!r}, which is not on the roster; draw it again.")
        object.__setattr__(self, "occasion", self._occasion())

    def _occasion(self) -> JointOccasion:
        return JointOccasion(
            study_digest=hashlib.sha256(self.study.encode("utf-8", "surrogatepass")).digest(),
            plan_digest=self.plan.digest,
            committee_digest=self.committee.digest,
            round_index=self.round_index,
            attempt=self.attempt,
            purpose=self.purpose.encode().ljust(_PURPOSE_BYTES, b"\0"),
            length=self.length,
        )

    @property
    def moment(self) -> Moment:
        return Moment(study=self.study, round_index=self.round_index, attempt=self.attempt)

    @property
    def chunks(self) -> int:
        return self.plan.chunks(self.length)

    def __str__(self) -> str:
        return f"round {self.round_index}, attempt {self.attempt}, {self.purpose}"
