"""Keyed coins: where a record goes in a private study, by what the record is and a key, and by nothing else.

A permutation over a file moves many records when one is removed, and differential privacy of the training set is then
none of the file. So every unit (a segment, or a single row) throws a coin of its own: a keyed BLAKE2b digest of the
record with its label. Equal records are told apart by an occurrence number: take one of m away, and the m-th coin is
missing, whichever row it was. A segment throws the coin of its name, since its rows must not decide about each other.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.streams import DataPurpose
from secure_sapefl.data.table import Array, Table

_MARK_BYTES = 16
_PERSON = b"sapefl coin"


def marks_of(table: Table) -> tuple[bytes, ...]:
    """What each of a table's units is, wherever it stands: a digest of the record, or the name of the segment."""
    if table.segment is not None:
        return tuple(_digest(b"segment", name.tobytes()) for name in np.unique(table.segment).astype("<i8"))
    rows, labels = canonical(table.X), canonical(table.y)
    return tuple(_digest(row.tobytes(), label.tobytes()) for row, label in zip(rows, labels, strict=True))


def canonical(X: Array) -> Array:
    """Rows whose bytes are equal where their values are: one byte order, one zero, one NaN, one float type."""
    if X.dtype.kind != "f":
        return np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("<"))
    values = np.ascontiguousarray(X, dtype="<f8") + 0.0
    return np.where(np.isnan(values), np.nan, values)


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=_MARK_BYTES, person=_PERSON)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Coins:
    """The coins of some units."""

    seed: int
    marks: tuple[bytes, ...]

    @classmethod
    def from_seed(cls, seed: int, marks: Sequence[bytes], groups: NDArray[np.int64] | None = None) -> "Coins":
        """Of units with these marks; equal ones are numbered, in each of ``groups`` from 0."""
        seen: Counter[tuple[bytes, int]] = Counter()
        numbered = []
        for twins in zip(marks, np.zeros(len(marks), np.int64) if groups is None else groups, strict=True):
            numbered.append(twins[0] + seen[twins].to_bytes(8, "little"))
            seen[twins] += 1
        return cls(seed, tuple(numbered))

    def thrown(self, purpose: DataPurpose, *key: int) -> NDArray[np.float64]:
        """One number in [0, 1) a unit, independent of all others and of those thrown for another purpose or key."""
        name = ":".join(str(part) for part in (self.seed, int(purpose), *key))
        secret = hashlib.blake2b(name.encode(), digest_size=32, person=_PERSON).digest()
        bits = [hashlib.blake2b(mark, key=secret, digest_size=8).digest() for mark in self.marks]
        return (np.frombuffer(b"".join(bits), "<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53
