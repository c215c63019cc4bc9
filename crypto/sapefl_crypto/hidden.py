"""Hidden scores: what a site encrypts that weighs its own update, and what sites read off the sum of such frames.

With a = score / max_score and B = max_abs_value, the encrypted numbers are a · x, a · B and a² · B. The server adds
them and multiplies nothing. On a grid all are rounded to it after weighing, so that these sums are exact too.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.exact_plan import ExactPlan

_SMALLEST_MEAN_SHARE: Final = 2.0**-14

Numbers = npt.NDArray[np.float64]


def weighed(values: Numbers, share: float, params: ExactPlan) -> Numbers:
    """The numbers of a frame: the vector times its share, and behind it the share and its square."""
    return params.on_grid(np.concatenate((share * values, np.array([share, share**2]) * params.max_abs_value)))


@dataclass(frozen=True, slots=True)
class HiddenMean:
    vector: npt.NDArray[np.float32]
    effective: float  # how many equal sites would mix as well: (Σ a)² / Σ a²


def hidden_mean(sums: Numbers, senders: int, params: ExactPlan) -> HiddenMean | None:
    """From the sums of `weighed` numbers; None where all shares together are next to nothing."""
    share, square = sums[-2:] / (params.max_abs_value * senders)
    if share < _SMALLEST_MEAN_SHARE:
        return None
    least_square = max(share**2, square - params.max_error)  # rounding and noise are not held against the server
    mean = sums[:-2] / (share * senders)
    return HiddenMean(mean.astype(np.float32), float(senders * share**2 / least_square))
