"""What a cohort with joint keys agrees on: whole numbers on a grid, a step that noise never crosses, no overflow.

A value v travels as step · m, with m = v · 2^grid_bits rounded. A site adds a Gaussian error of width sigma; a weighted
sum then lies within

    noise = 9 · sigma · 2^weight_bits · sqrt(max_clients)  <  step / 2

of a whole multiple of the step, and within q / 2 of zero, so that rounding gives the exact whole number. Whatever the
prime leaves goes into the grid.

    sigma = 2 · 3.2 · 2^weight_bits

is what keeps an *opened* sum of errors from being taken apart again, and no more than five weight bits are what keeps
an opened sum of small values from it (README.md, "Joint keys"; tests/crypto/joint/test_attacks_*.py do both).
"""

import hashlib
import math
import struct
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto import seal
from sapefl_crypto.errors import ParametersRejected
from sapefl_crypto.joint.field import PRIME, PRIME_BITS, RING_DEGREE
from sapefl_crypto.parameters import TAGS

MAX_WEIGHT_BITS: Final = 5
ERROR_WIDTH: Final = 3.2  # of the LWE problem that is left when a sum is open
_SIGMAS: Final = 9.0  # a Gaussian passes 9 sigma once in 4e18 values
_COARSEST_GRID_BITS: Final = 12  # as for `Parameters.exact`
_FINEST_GRID_BITS: Final = 40
_FIELDS: Final = struct.Struct(">IdBB")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPlan:
    """``max_clients`` and ``max_abs_value`` are promises of the cohort; `Parameters.joint` finds the finest grid."""

    max_clients: int
    max_abs_value: float
    weight_bits: int
    grid_bits: int

    def __post_init__(self) -> None:
        _check_fields(self)
        finest = _finest_grid(self)
        if finest < _COARSEST_GRID_BITS:
            raise ParametersRejected(
                f"{self.max_clients} clients, values up to {self.max_abs_value:g} and {self.weight_bits} weight bits "
                f"leave a grid of 2^-{finest}, too coarse for updates (2^-{_COARSEST_GRID_BITS} at least). Lower "
                "max_clients, max_abs_value or weight_bits."
            )
        if not 1 <= self.grid_bits <= finest:
            raise ParametersRejected(
                f"A grid of 2^-{self.grid_bits} would overflow; this plan allows 2^-{finest} at the finest. Use "
                "Parameters.joint to plan one."
            )

    @classmethod
    def finest(cls, *, max_clients: int, max_abs_value: float, weight_bits: int) -> "JointPlan":
        coarse = cls(max_clients=max_clients, max_abs_value=max_abs_value, weight_bits=weight_bits, grid_bits=1)
        return replace(coarse, grid_bits=_finest_grid(coarse))

    def __str__(self) -> str:
        return (
            f"{self.max_clients} clients, values up to {self.max_abs_value:g}, {self.weight_bits} weight bits, "
            f"sigma {self.sigma:g}, step 2^{self.step_bits}, grid 2^-{self.grid_bits}"
        )

    @property
    def sigma(self) -> float:
        """Width of a site's error, before it is rounded to whole numbers."""
        return 2 * ERROR_WIDTH * 2.0**self.weight_bits

    @property
    def step_bits(self) -> int:
        """The step is 2^step_bits: more than twice the noise of any sum."""
        worst = 2.0**self.weight_bits * math.sqrt(self.max_clients)
        return math.floor(math.log2(2 * _noise(self, worst))) + 1

    def noise(self, weights: Iterable[int]) -> float:
        """How far from its place a sum with these weights may lie."""
        return _noise(self, math.hypot(*weights))

    def on_grid(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        steps = 2.0**self.grid_bits  # products with a power of two are exact
        return np.rint(values * steps) / steps

    @property
    def max_error(self) -> float:
        """The rounding before encryption is all the error there is."""
        return 0.5**self.grid_bits / 2

    @property
    def data_slots(self) -> int:
        return RING_DEGREE - TAGS

    @property
    def chunk_bytes(self) -> int:
        """Of a frame and of a sum: one polynomial."""
        return RING_DEGREE * PRIME_BITS // 8

    @property
    def fresh_chunk_bytes(self) -> int:
        return self.chunk_bytes

    @property
    def security_bits(self) -> int:
        """Of ring and prime, by the table that `Parameters` goes by; hardness.py estimates what the errors leave."""
        return seal.security_bits(RING_DEGREE)

    @property
    def bytes_per_parameter(self) -> float:
        return self.chunk_bytes / self.data_slots

    @property
    def forgery_chance(self) -> float:
        """Chance that any change of a sum passes one chunk's tags: each is a guess at a uniform number below q."""
        worst = 2.0**self.weight_bits * math.sqrt(self.max_clients)
        return float(((2 * _noise(self, worst) + 1) / PRIME) ** TAGS)

    @property
    def digest(self) -> bytes:
        described = self.to_bytes() + struct.pack(">QdBB", PRIME, self.sigma, self.step_bits, TAGS)
        return hashlib.sha256(b"sapefl joint plan 1" + described).digest()[:16]

    def chunks(self, length: int) -> int:
        return -(-length // self.data_slots)

    def to_bytes(self) -> bytes:
        return _FIELDS.pack(*astuple(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> "JointPlan":
        try:
            clients, bound, weight_bits, grid_bits = _FIELDS.unpack(data)
        except struct.error:
            raise ParametersRejected(f"Expected {_FIELDS.size} bytes of a joint plan, got {len(data)}.") from None
        return cls(max_clients=clients, max_abs_value=bound, weight_bits=weight_bits, grid_bits=grid_bits)


def _check_fields(plan: JointPlan) -> None:
    if not 1 <= plan.max_clients <= 2**20:
        raise ParametersRejected(f"max_clients is {plan.max_clients}; choose 1 to {2**20}.")
    if not (math.isfinite(plan.max_abs_value) and plan.max_abs_value > 0):
        raise ParametersRejected(f"max_abs_value is {plan.max_abs_value}; choose a positive, finite bound.")
    if not 0 <= plan.weight_bits <= MAX_WEIGHT_BITS:
        raise ParametersRejected(
            f"weight_bits is {plan.weight_bits}; joint keys allow 0 to {MAX_WEIGHT_BITS}, because a sum with very "
            "unequal weights can be taken apart once it is open."
        )


def _noise(plan: JointPlan, weight_norm: float) -> float:
    return _SIGMAS * math.sqrt(plan.sigma**2 + 1 / 12) * weight_norm


def _finest_grid(plan: JointPlan) -> int:
    """Largest g with clients · 2^weight_bits · step · (B · 2^g + 1/2) + noise < q / 2."""
    most = plan.max_clients * 2**plan.weight_bits
    room = (PRIME // 2 - 2 ** (plan.step_bits - 1)) / (most * 2.0**plan.step_bits) - 0.5
    if room <= plan.max_abs_value * 2.0**-_FINEST_GRID_BITS:
        return -_FINEST_GRID_BITS
    return min(_FINEST_GRID_BITS, math.floor(math.log2(room / plan.max_abs_value)))
