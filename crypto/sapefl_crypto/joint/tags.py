"""Integer tags: a linearly homomorphic MAC over every chunk, modulo q (Agrawal and Boneh, ACNS 2009).

    m_ck = <r_k, x_c> + t_ck   (mod q)            k = 1 … 8, one in each tag place

x_c are the whole numbers of a chunk, r_k in Z_q^n is secret and common to all senders and chunks of an occasion, t_ck
in Z_q secret and of one chunk of one frame. A sum with the claimed weights w satisfies

    m̂_k = <r_k, x̂> + Σ w_c t_ck   (mod q)

up to the errors in the tag places, a few hundred thousand of q = 2^60. A change of one grid step in one value moves the
right side by a uniform number below q, so it passes one tag with chance 2 · noise / q, about 2^-41.

r and t come from a root that all sites share: tags are for a server without an accomplice among the sites. They protect
the sum's correctness, never its secrecy.
"""

import os
from typing import Final

import numpy as np

from sapefl_crypto.derivation import ROOT_BYTES, derive
from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.frames import checksum_holds, with_checksum
from sapefl_crypto.joint.field import Functionals, Integers, added, negated, uniform
from sapefl_crypto.joint.occasion import JointOccasion
from sapefl_crypto.parameters import TAGS
from sapefl_crypto.seal import Coefficients
from sapefl_crypto.secret import Guarded, Secret

_MAGIC: Final = b"SPJR\x01"


class TagRoot(Guarded):
    """The 32 bytes that all sites of a joint study share: for tags, and for nothing that hides an update."""

    __slots__ = ("_root",)

    def __init__(self, root: Secret) -> None:
        self._root = root

    @classmethod
    def generate(cls) -> "TagRoot":
        return cls(Secret(os.urandom(ROOT_BYTES)))

    @property
    def fingerprint(self) -> str:
        """16 hex digits that tell roots apart and tell nothing about them."""
        return derive(self._root, "joint fingerprint").reveal()[:8].hex()

    def tagger(self, occasion: JointOccasion, data_slots: int) -> "IntegerTags":
        return IntegerTags(self._root, occasion, data_slots)

    def export_secret(self) -> bytes:
        """The root in the clear, for a key file or for sealing to a site, and for nothing else."""
        return with_checksum(_MAGIC, self._root.reveal())

    @classmethod
    def from_secret(cls, data: bytes) -> "TagRoot":
        intact = data.startswith(_MAGIC) and len(data) == len(_MAGIC) + ROOT_BYTES + 4 and checksum_holds(data)
        root = Secret(data[len(_MAGIC) : -4])
        del data  # a traceback that shows locals must not show it
        if not intact:
            raise KeyRejected("These bytes are no intact root of a joint study; ask the custodian for a new copy.")
        return cls(root)


class IntegerTags(Guarded):
    """Makes and checks tags for one occasion."""

    __slots__ = ("_functionals", "_offset_root")

    def __init__(self, root: Secret, occasion: JointOccasion, data_slots: int) -> None:
        about = occasion.to_bytes()
        rows = uniform(derive(root, "joint tag functional", about), 0, TAGS * data_slots)
        self._functionals = Functionals(rows.reshape(TAGS, data_slots))
        self._offset_root = derive(root, "joint tag offset", about)

    def tags(self, data: Integers, offsets: Coefficients) -> Coefficients:
        """m for chunks [c, n] of whole numbers and their offsets [c, 8]."""
        return added(self._functionals(data), offsets)

    def offsets(self, sender: str, nonce: bytes, chunks: int) -> Coefficients:
        """t for all chunks of one frame, [chunks, 8]."""
        return uniform(derive(self._offset_root, "frame", sender, nonce), 0, TAGS * chunks).reshape(chunks, TAGS)

    def residuals(self, data: Integers, tags: Coefficients, offsets: Coefficients) -> Coefficients:
        """How far from m̂ each tag is, the shorter way round."""
        off = added(tags, negated(self.tags(data, offsets)))
        return np.minimum(off, negated(off))
