"""How hard the LWE problem behind joint keys is, by the usual core-SVP estimate.

    python -m sapefl_crypto.joint.hardness

The primal attack of Alkim, Ducas, Pöppelmann and Schwabe ("NewHope", USENIX Security 2016, section 6.3): with m samples
the attacker looks for a vector of length width · sqrt(d) in a lattice of dimension d = m + n + 1 and volume q^m. BKZ
with blocks of b finds it once

    width · sqrt(b)  <=  delta(b)^(2b - d - 1) · q^(m / d),   delta(b) = ((pi b)^(1/b) · b / (2 pi e))^(1 / (2 (b - 1)))

and one call of its solver costs at least 2^(0.292 b) steps, 2^(0.265 b) on a quantum computer (Becker, Ducas, Gama and
Laarhoven 2016; Laarhoven 2015). The secret is uniform, which is no easier to find than one drawn like the error, as the
estimate has it. Polynomials are treated as plain vectors: no attack is known that gains from the ring here.
"""

import math
import sys
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.joint.field import PRIME, RING_DEGREE
from sapefl_crypto.joint.plan import ERROR_WIDTH

CLASSICAL: Final = 0.292
QUANTUM: Final = 0.265
_SMALLEST_BLOCK: Final = 60  # below, delta(b) is not to be trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCost:
    width: float
    block: int
    samples: int

    @property
    def classical_bits(self) -> int:
        return math.floor(CLASSICAL * self.block)

    @property
    def quantum_bits(self) -> int:
        return math.floor(QUANTUM * self.block)


def core_svp(width: float, degree: int = RING_DEGREE, modulus: int = PRIME) -> AttackCost:
    """The smallest block for which some number of samples suffices."""
    low, high = _SMALLEST_BLOCK, 4 * degree
    while low < high:
        middle = (low + high) // 2
        if _best_samples(width, middle, degree, modulus) is None:
            low = middle + 1
        else:
            high = middle
    return AttackCost(width=width, block=low, samples=_best_samples(width, low, degree, modulus) or 0)


def _best_samples(width: float, block: int, degree: int, modulus: int) -> int | None:
    """A number of samples with which blocks of this size succeed; None if there is none."""
    log_delta = math.log2((math.pi * block) ** (1 / block) * block / (2 * math.pi * math.e)) / (2 * (block - 1))
    log_length = math.log2(width * math.sqrt(block))
    for samples in range(1, 4 * degree):
        dimension = samples + degree + 1
        if log_length <= (2 * block - dimension - 1) * log_delta + samples / dimension * math.log2(modulus):
            return samples
    return None


def report() -> str:
    widths = {
        "left by an opened sum, by the argument in README.md": ERROR_WIDTH,
        "weight_bits 0, not opened": 2 * ERROR_WIDTH,
        "weight_bits 5, not opened": 2 * ERROR_WIDTH * 2**5,
    }
    rows = [(label, core_svp(width)) for label, width in widths.items()]
    lines = [
        f"{found.width:6.1f}  {found.block:5d}  {found.classical_bits:9d}  {found.quantum_bits:7d}  {label}"
        for label, found in rows
    ]
    return "\n".join((f"N = {RING_DEGREE}, q = {PRIME}, uniform secret", " width  block  classical  quantum", *lines))


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
