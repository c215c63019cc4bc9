"""The only way for numbers to leave the circle of key holders.

CKKS decryption returns message plus noise, and the noise is part of the secret: whoever knows the exact message and
sees the decryption learns the noise and can solve for the key (Li and Micciancio, EUROCRYPT 2021, "IND-CPA-D").
Key holders may see it, the public may not. A vector for the public therefore gets fresh Gaussian noise, FLOOD times
wider than the CKKS noise in it. What remains is LWE with a hint e + f on its error e, which is as hard as LWE with
error variance 1 / (1/var(e) + 1/var(f)) (Kim, Lee, Seo and Song, CRYPTO 2023, "Hint-MLWE"): with FLOOD = 256 and all
releases counted in, less than 0.001 % narrower than without any. The theorem is for Gaussian errors; SEAL's are
binomial of the same width.
"""

import math
import os
from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.derivation import ROOT_BYTES
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.gaussian import normals
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.secret import Secret

FLOOD: Final = 256.0
MAX_RELEASES: Final = 16


def release_noise(params: Parameters, decryptions: int) -> float:
    """Standard deviation added to a vector into which ``decryptions`` decrypted means were summed.

    Sized for MAX_RELEASES under one key and for the worst weights, so releasing earlier or more often gains nothing.
    """
    if decryptions < 1:
        raise ValueRejected(f"decryptions is {decryptions}; count the decrypted aggregates in the vector, at least 1.")
    return FLOOD * math.sqrt(MAX_RELEASES * decryptions) * params.noise


def flooded(
    vector: npt.NDArray[np.floating[npt.NBitBase]], params: Parameters, *, decryptions: int, earlier_releases: int
) -> npt.NDArray[np.float32]:
    if not 0 <= earlier_releases < MAX_RELEASES:
        raise ValueRejected(
            f"{earlier_releases} vectors were already released under this key, the noise is sized for {MAX_RELEASES}; "
            "rotate the cohort key before releasing more."
        )
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueRejected("Only a flat vector of finite numbers can be released.")
    noise = normals(Secret(os.urandom(ROOT_BYTES)), vector.size)
    return (vector + release_noise(params, decryptions) * noise).astype(np.float32)
