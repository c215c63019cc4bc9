"""How a site's noised sum travels: as whole numbers of steps, scaled into what the encryption carries.

An update may hold numbers up to ``bound`` on a grid of 2^-grid_bits (`Parameters.exact`, `JointPlan`). A site's sum x
of clipped gradients and its noise n travel as (x + n) / unit, with

    unit = (largest + TAIL * deviation) / bound         x is cut at ``largest`` in each place before it is noised
    step = unit * 2^-bits                               bits so few that float32 holds every such number exactly
    deviation = share * S,  S = clip + step sqrt(P)     the noise multiplier of a share, times the sensitivity

Cutting x moves no two sums further apart. Cutting x + n would: the sum of cut numbers is not the cut sum. So noise
beyond `TAIL` deviations is carried by nobody; the site withdraws, once in 10^32 numbers.
"""

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.shared.grid import TAIL, Whole, sensitivity
from secure_sapefl.privacy.shared.plan import SharedPlan

Floats = NDArray[np.float64]
_EXACT_IN_FLOAT32: Final = 23  # bits of whole numbers, the sign apart


class ExactNumbers(Protocol):
    """What an encryption carries without an error."""

    @property
    def max_abs_value(self) -> float: ...

    @property
    def grid_bits(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriage:
    unit: float
    bits: int
    largest: float
    sensitivity: float  # S, in units of the gradients, like ``largest`` and ``step``

    @classmethod
    def for_plan(cls, plan: SharedPlan, parameters: int, numbers: ExactNumbers) -> "Carriage":
        """The step depends on the deviation and the deviation on the step; both are linear."""
        bits = min(numbers.grid_bits, _EXACT_IN_FLOAT32 - math.ceil(math.log2(numbers.max_abs_value)))
        largest = plan.clip * max(1.0, plan.rate * plan.most_units)
        places = math.sqrt(parameters) / (2.0**bits * numbers.max_abs_value)
        room = 1 - TAIL * plan.share * places
        if room <= 0:
            raise BadInput(
                f"Noise of {plan.share:.3g} clips for {parameters:,} numbers does not fit on a grid of 2^-{bits}: its "
                "steps alone would need more. Choose a larger epsilon, a smaller model or fewer steps."
            )
        widest = (plan.clip + largest * places) / room
        unit = (largest + TAIL * plan.share * widest) / numbers.max_abs_value
        moved = sensitivity(plan.clip, unit * 2.0**-bits, parameters)
        return cls(unit=unit, bits=bits, largest=largest, sensitivity=moved)

    @property
    def step(self) -> float:
        return self.unit * 2.0**-self.bits

    def deviation(self, noise_multiplier: float) -> float:
        """Of noise with this multiplier, in steps."""
        return noise_multiplier * self.sensitivity / self.step

    def in_steps(self, exact: Floats) -> Floats:
        """A site's exact sum, cut, in steps and not yet rounded."""
        return np.clip(exact, -self.largest, self.largest) / self.step

    def packed(self, whole: Whole) -> NDArray[np.float32]:
        """As it is encrypted."""
        return (whole.astype(np.float64) * 2.0**-self.bits).astype(np.float32)
