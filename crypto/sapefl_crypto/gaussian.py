"""Gaussian numbers from a cryptographic stream; numpy's own generators can be predicted.

Box and Muller's method on 53-bit uniform numbers: at most 8.6 standard deviations, float64's precision. Numbers are
drawn in blocks, so that many of them take no more memory than they do themselves.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.derivation import keystream
from sapefl_crypto.secret import Secret

_BLOCK: Final = 2**15


def normals(key: Secret, count: int, first_block: int = 0) -> npt.NDArray[np.float64]:
    """``count`` numbers of mean 0 and width 1; blocks of 2^15 numbers take their stream from ``first_block`` on."""
    drawn = np.empty(count)
    for block, start in enumerate(range(0, count, _BLOCK), first_block):
        drawn[start : start + _BLOCK] = _one_block(key, block, min(_BLOCK, count - start))
    return drawn


def _one_block(key: Secret, block: int, count: int) -> npt.NDArray[np.float64]:
    half = (count + 1) // 2
    stream = keystream(key, block, 16 * half)
    first, second = ((np.frombuffer(stream, "<u8") >> np.uint64(11)) + 0.5).reshape(2, half) / 2.0**53
    radius, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)))[:count]
