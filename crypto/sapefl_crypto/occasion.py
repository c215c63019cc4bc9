"""What every message of a round must agree on, and what every tag is bound to.

size  field                                            (integers big endian)
1     kind: 1 the server weighs, 2 the site has weighed (hidden scores)
32    study digest, SHA-256 of its name
16    parameter digest
8     round
8     vector length
"""

import hashlib
import struct
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Final

from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.parameters import Parameters

_FIELDS: Final = struct.Struct(">B32s16sQQ")
OCCASION_BYTES: Final = _FIELDS.size
MAX_LENGTH: Final = 2**40


class Kind(IntEnum):
    """Who multiplies by the score. Part of every key derivation, so one kind never passes for the other."""

    WEIGHTED = 1
    HIDDEN = 2

    def places(self, length: int) -> int:
        """Numbers encrypted for a vector of ``length``: hidden frames carry the score and its square too."""
        return length + 2 if self is Kind.HIDDEN else length


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    kind: Kind
    study_digest: bytes
    params_digest: bytes
    round_index: int
    length: int

    @classmethod
    def bound_to(cls, params: Parameters, kind: Kind, *, study: str, round_index: int, length: int) -> "Occasion":
        if not 0 <= round_index < 2**63 or not 1 <= length <= MAX_LENGTH:
            raise ValueRejected(f"Round {round_index}, {length} values: rounds count from 0, vectors hold at least 1.")
        digest = hashlib.sha256(study.encode("utf-8", "surrogatepass")).digest()
        return cls(kind=kind, study_digest=digest, params_digest=params.digest, round_index=round_index, length=length)

    def to_bytes(self) -> bytes:
        return _FIELDS.pack(*astuple(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Occasion":
        """Raises ValueError for an unknown kind; the caller knows whom to name."""
        kind, study, params, round_index, length = _FIELDS.unpack(data)
        return cls(kind=Kind(kind), study_digest=study, params_digest=params, round_index=round_index, length=length)

    def difference(self, other: "Occasion") -> str | None:
        """How ``other`` fails to be this occasion, as the end of a sentence; None when it does not."""
        for wrong, sentence in (
            (other.study_digest != self.study_digest, "made for another study"),
            (other.round_index != self.round_index, f"made for round {other.round_index}, not {self.round_index}"),
            (other.params_digest != self.params_digest, "encrypted under other parameters; share one plan"),
            (other.kind != self.kind, f"a {other.kind.name} message in a {self.kind.name} round"),
            (other.length != self.length, f"{other.length} values, the model has {self.length}"),
        ):
            if wrong:
                return sentence
        return None

    def chunks(self, params: Parameters) -> int:
        return params.chunks(self.kind.places(self.length))
