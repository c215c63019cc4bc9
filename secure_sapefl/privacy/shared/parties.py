"""Who has to contribute to a sum before it is opened, and how many of them are honest.

Of m contributors at least, t collude: they know their own shares of the noise and may tell each other. One more share
is known to whoever reads the sum, if it was itself a contributor and is merely curious. So

    h = m - t - 1

shares at least remain that no reader can subtract, and a share of variance sigma^2 S^2 / h makes the sum as noisy as a
Gaussian mechanism of noise multiplier sigma (S the sensitivity). More contributors bring more noise than was planned;
fewer are never opened.
"""

import math
from dataclasses import dataclass

from secure_sapefl.errors import BadInput


@dataclass(frozen=True, slots=True)
class Parties:
    contributors: int  # m, the fewest in a sum that is opened
    colluders: int  # t, of these

    def __post_init__(self) -> None:
        if self.colluders < 0 or self.honest < 1:
            raise BadInput(
                f"Of {self.contributors} contributors {self.colluders} may collude and one may be curious: "
                f"{max(self.honest, 0)} shares of the noise are left that nobody knows, and there must be one at "
                "least. Raise --dp-contributors, or lower --dp-colluders."
            )

    @property
    def honest(self) -> int:
        """h, the fewest shares that no reader of the sum knows."""
        return self.contributors - self.colluders - 1

    def share(self, noise_multiplier: float) -> float:
        """What each contributor adds so that the sum has ``noise_multiplier``: variances add up, not deviations."""
        return noise_multiplier / math.sqrt(self.honest)
