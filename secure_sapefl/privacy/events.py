"""What was done to a site's records. An event says nothing about their values: it may be shown to anybody."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, get_args

from secure_sapefl.errors import BadInput

Mechanism = Literal["dp-sgd", "gaussian"]
PREPARATION: Final = "preparation"
TABLE_ONE: Final = "table 1"
TEST_RESULTS: Final = "test results"
"""Releases of counts, as ledgers call them."""
OF_NO_ROUND: Final = (PREPARATION, TEST_RESULTS)
"""Before the first round of a study that trains, and after the last."""
_SHARED: Final = ("contributors", "colluders")  # left out of files where there is no such thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``steps`` runs of the Poisson-subsampled Gaussian mechanism on one site's records.

    ``noise_multiplier`` is the noise's standard deviation in units of the L2 sensitivity to one record, added or
    removed. A plain Gaussian mechanism samples everybody (``sample_rate`` 1) once.

    Under shared noise that is the site's own share, which is what protects it if everybody else conspires. The release
    is opened only in a sum of ``contributors`` at least, of whom ``colluders`` may collude; both are 0 elsewhere.
    """

    mechanism: Mechanism
    release: str  # the message field this pays for
    noise_multiplier: float
    sample_rate: float
    steps: int
    round_index: int
    study: str
    contributors: int = 0
    colluders: int = 0

    def __post_init__(self) -> None:
        sound = (
            self.mechanism in get_args(Mechanism)
            and math.isfinite(self.noise_multiplier)
            and self.noise_multiplier > 0
            and 0 < self.sample_rate <= 1
            and self.steps >= 1
            and self.round_index >= 0
            and (self.honest >= 1 or self.contributors == self.colluders == 0)
            and self.colluders >= 0
        )
        if not sound:
            raise BadInput(
                f"Not an event of a private mechanism: {asdict(self)}. Expected noise > 0, a sample rate in (0, 1], "
                "at least one step, a round from 0 on, and two contributors more than colluders under shared noise."
            )

    @property
    def shared(self) -> bool:
        """Whether it counts on others' noise."""
        return self.contributors > 0

    @property
    def honest(self) -> int:
        """The fewest shares of the noise in a sum that no reader knows: all but the colluders' and its own."""
        return self.contributors - self.colluders - 1

    @property
    def noise_in_a_sum(self) -> float:
        """The noise multiplier as readers of opened sums see it: that of all honest contributors together."""
        return self.noise_multiplier * math.sqrt(self.honest) if self.shared else self.noise_multiplier

    def in_a_sum(self) -> "Event":
        """The same event as readers of opened sums see it."""
        return replace(self, noise_multiplier=self.noise_in_a_sum) if self.shared else self

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self)
        return fields if self.shared else {name: fields[name] for name in fields if name not in _SHARED}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Event":
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Budget:
    """(epsilon, delta): the most a site is ready to spend over its whole ledger."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise BadInput(f"epsilon = {self.epsilon} is no budget: expected a number above 0, for instance 4.")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta = {self.delta} is no probability of failure: expected one far below 1 / records.")
