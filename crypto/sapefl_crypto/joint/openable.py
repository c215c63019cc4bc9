"""A sum with all it takes to open it, as a server hands it to sites: aggregate, certificate, answers.

offset  size  field                                    (integers big endian)
0       4     magic "SPJO"
4       1     version, 1
5       2     n, number of answers
7       4     length of the aggregate
11      4     length of the certificate; 0 where nothing was added, and nothing has to be opened
15      4n    lengths of the answers
15+4n   …     aggregate, certificate, answers
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final

from sapefl_crypto.aggregate import malformed
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.opening import Opened, open_mean
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.sealing import Unsealer
from sapefl_crypto.joint.tags import TagRoot

_HEADER: Final = struct.Struct(">4sBH")
_MAGIC: Final = b"SPJO"
_VERSION: Final = 1
_LENGTH: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenableSum:
    """It proves nothing by itself: `open` checks everything in it."""

    aggregate: JointAggregate
    certificate: Certificate | None = None
    answers: tuple[bytes, ...] = field(default=(), repr=False)

    def open(
        self,
        about: Callable[[int], JointRound],
        *,
        reader: str,
        key: Unsealer,
        root: TagRoot,
        policy: JointPolicy | None = None,
    ) -> Opened:
        """The mean, as `open_mean` gives it; ``about`` is the round by the attempt at it that this sum is of."""
        when = about(self.aggregate.claimed.occasion.attempt)
        return open_mean(
            when, self.aggregate, self.certificate, self.answers, reader=reader, sealing=key, root=root, policy=policy
        )

    def to_bytes(self) -> bytes:
        certificate = b"" if self.certificate is None else self.certificate.to_bytes()
        pieces = (self.aggregate.to_bytes(), certificate, *self.answers)
        header = _HEADER.pack(_MAGIC, _VERSION, len(self.answers))
        return b"".join((header, *(_LENGTH.pack(len(piece)) for piece in pieces), *pieces))

    @classmethod
    def from_bytes(cls, data: bytes) -> "OpenableSum":
        """Parse what came over the network; `AggregateRejected` ("format") for anything malformed."""
        aggregate, certificate, *answers = _pieces(data)
        return cls(
            aggregate=JointAggregate.from_bytes(aggregate),
            certificate=Certificate.from_bytes(certificate) if certificate else None,
            answers=tuple(answers),
        )


def _pieces(data: bytes) -> list[bytes]:
    if len(data) < _HEADER.size or data[:4] != _MAGIC or data[4] != _VERSION:
        raise malformed(f"not a sum to be opened of version {_VERSION}")
    count = 2 + _HEADER.unpack_from(data)[2]
    start = _HEADER.size + count * _LENGTH.size
    if len(data) < start:
        raise malformed("a sum to be opened is cut short")
    lengths = [length for (length,) in _LENGTH.iter_unpack(data[_HEADER.size : start])]
    if start + sum(lengths) != len(data):
        raise malformed("the parts of a sum to be opened and its length disagree")
    return [data[begin:end] for begin, end in pairwise(accumulate(lengths, initial=start))]
