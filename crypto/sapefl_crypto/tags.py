"""Verification tags: a linearly homomorphic MAC over every chunk, so a site learns what the server really added up.

    m_ck = <r_k, x_c> / sqrt(n) + t_ck            k = 1 … 8, one MAC per tag place

r_k in [-1, 1)^n is secret and common to all senders and chunks of a round; t_ck in [-1, 1) is secret and belongs to
one chunk of one frame, so that no chunk can stand in for another.
For the claimed weights w and any honest server, the decrypted mean x̂ and tag m̂ of a chunk satisfy

    m̂_k = <r_k, x̂> / sqrt(n) + Σ w_c t_ck / Σ w_c

up to CKKS noise. The construction is the random linear functional plus pseudorandom offset of network-coding MACs
(Agrawal and Boneh, "Homomorphic MACs", ACNS 2009), over the reals. A change of d in one value moves the right side by
d · r / sqrt(n) for an r the server never sees, so it passes all eight tags with chance (tolerance · sqrt(n) / d)^8.
"""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sapefl_crypto.derivation import derive, keystream
from sapefl_crypto.occasion import Occasion
from sapefl_crypto.parameters import TAGS, Parameters
from sapefl_crypto.secret import Guarded, Secret

_ROUNDING = 2.0**-44  # double precision in SEAL's FFT and in the inner products, relative to the largest value

Reals = npt.NDArray[np.float64]


class TagMaker(Guarded):
    """Makes and checks tags for one occasion. Holds secrets derived from the cohort root."""

    __slots__ = ("_directions", "_offset_root", "_params")

    def __init__(self, root: Secret, params: Parameters, occasion: Occasion) -> None:
        about = occasion.to_bytes()
        self._params = params
        self._directions = _directions(derive(root, "tag functional", about), params.data_slots)
        self._offset_root = derive(root, "tag offset", about)

    def tags(self, data: Reals, offsets: Reals) -> Reals:
        """m for chunks [..., n] and their offsets [..., 8]."""
        return data @ self._directions.T + offsets

    def offsets(self, sender: str, nonce: bytes, count: int) -> Reals:
        """t for the chunks of one frame. The nonce makes a frame sent twice two frames."""
        stream = keystream(derive(self._offset_root, "frame", sender, nonce), 0, 8 * TAGS * count)
        return np.frombuffer(stream, "<i8").reshape(-1, TAGS) / 2.0**63

    def residuals(self, data: Reals, tags: Reals, offsets: Reals) -> Reals:
        return np.abs(tags - self.tags(data, offsets))

    def tolerance(self, shares: Iterable[float]) -> float:
        """How far an honest tag may be off: CKKS noise, averaged as the claimed shares average it, and rounding."""
        averaging = math.sqrt(sum(share * share for share in shares))
        rounding = _ROUNDING * (1 + self._params.max_abs_value) * math.sqrt(self._params.data_slots)
        return self._params.tag_noise * averaging + rounding


def _directions(key: Secret, count: int) -> Reals:
    """r_k / sqrt(n), [8, n], in 16-bit steps."""
    steps = np.frombuffer(keystream(key, 0, 2 * TAGS * count), "<i2").reshape(TAGS, count)
    directions: Reals = steps / (2.0**15 * math.sqrt(count))
    return directions
