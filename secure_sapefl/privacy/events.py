"""What was done to a site's records. An event says nothing about their values: it may be shown to anybody."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from secure_sapefl.errors import BadInput

Mechanism = Literal["dp-sgd", "gaussian"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``steps`` runs of the Poisson-subsampled Gaussian mechanism on one site's records.

    ``noise_multiplier`` is the noise's standard deviation in units of the L2 sensitivity to one record, added or
    removed. A plain Gaussian mechanism samples everybody (``sample_rate`` 1) once.
    """

    mechanism: Mechanism
    release: str  # the message field this pays for
    noise_multiplier: float
    sample_rate: float
    steps: int
    round_index: int
    study: str

    def __post_init__(self) -> None:
        sound = (
            self.mechanism in get_args(Mechanism)
            and math.isfinite(self.noise_multiplier)
            and self.noise_multiplier > 0
            and 0 < self.sample_rate <= 1
            and self.steps >= 1
            and self.round_index >= 0
        )
        if not sound:
            raise BadInput(
                f"Not an event of a private mechanism: {asdict(self)}. Expected noise > 0, a sample rate in (0, 1], "
                "at least one step and a round from 0 on."
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

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
