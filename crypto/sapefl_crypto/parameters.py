"""What a cohort agrees on before it encrypts anything: a plan that cannot overflow, and the error it promises.

The bit budget (all in bits, q the 60-bit prime):

    scale + weight_bits + log2(max_clients) + log2(peak) <= log2(q / 2)

where ``peak`` bounds one coefficient of an encoded chunk. The canonical embedding gives |coefficient| <= mean |slot|
over the N/2 slots (times scale), a slot holds two values of at most ``max_abs_value``, and the few tag slots may reach
sqrt(n) · max_abs_value + 1. Whatever the budget leaves goes into the scale, because the scale is the precision.

A plan may go further and be *exact* (`Parameters.exact`): values are rounded to a grid of 2^-grid_bits before they are
encrypted, so a weighted sum is a whole multiple of it, and the grid is wide enough that CKKS noise never carries a sum
to the next multiple. Rounding after decryption then removes the noise altogether: the mean is bit for bit the one that
the same numbers give in the clear, and a decryption carries no trace of the noise that IND-CPA-D attacks live on.
"""

import hashlib
import math
import struct
import sys
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto import seal
from sapefl_crypto.errors import ParametersRejected

if TYPE_CHECKING:
    from sapefl_crypto.joint.plan import JointPlan

TAGS: Final = 8
MIN_SECURITY_BITS: Final = 128
_SIGMAS: Final = 9.0  # a Gaussian passes 9 sigma once in 4e18 values
_TAG_SIGMAS: Final = 9.5 * math.sqrt(4 / 3)  # a tag's own noise and that of the data mixed by r, of variance 1/3
_FIELDS: Final = struct.Struct(">IdBdIB")
_WANTED_GRID_BITS: Final = 20
_COARSEST_GRID_BITS: Final = 12  # a step of 0.00024: on a coarser grid, ordinary updates would be rounded to nothing
_WEIGHT_BITS_FOR_EXACT: Final = range(14, 5, -1)
_CHECKED_DEVIATION: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """``max_clients`` and ``max_abs_value`` are promises of the cohort; ``precision`` is the error it will accept.

    ``weight_bits`` is the resolution of the server's integer weights: a score becomes a whole number up to 2**bits.
    With hidden scores the server does not weigh, and ``weight_bits=0`` turns those bits into precision.
    """

    max_clients: int = 128
    max_abs_value: float = 8.0
    weight_bits: int = 14
    precision: float = 1e-6
    ring_degree: int = 4096
    grid_bits: int = 0  # 0: no grid

    def __post_init__(self) -> None:
        _check_fields(self)
        _check_security(self.ring_degree)
        _check_budget(self)

    @classmethod
    def exact(cls, *, max_clients: int = 128, max_abs_value: float = 8.0, ring_degree: int = 4096) -> "Parameters":
        """A plan whose sums decrypt exactly: as many weight bits as leave a grid of 2^-20, and never fewer than six.

        Refused where even six leave a grid coarser than 2^-12.
        """
        wished = partial(cls, max_clients=max_clients, max_abs_value=max_abs_value, ring_degree=ring_degree)
        plans = [wished(weight_bits=bits, precision=sys.float_info.max) for bits in _WEIGHT_BITS_FOR_EXACT]
        plan = next((plan for plan in plans if plan.finest_grid_bits >= _WANTED_GRID_BITS), plans[-1])
        if plan.finest_grid_bits < _COARSEST_GRID_BITS:
            raise _too_coarse(plan)
        return replace(plan, grid_bits=plan.finest_grid_bits, precision=0.5**plan.finest_grid_bits)

    @staticmethod
    def joint(*, max_clients: int = 128, max_abs_value: float = 8.0, weight_bits: int = 5) -> "JointPlan":
        """An exact plan for joint keys, where values travel in coefficients (joint/plan.py)."""
        from sapefl_crypto.joint.plan import JointPlan

        return JointPlan.finest(max_clients=max_clients, max_abs_value=max_abs_value, weight_bits=weight_bits)

    @property
    def finest_grid_bits(self) -> int:
        """The finest grid on which every sum can still be told from its neighbours, whatever weights come together."""
        sum_error = _SIGMAS * self.noise * 2.0**self.weight_bits * math.sqrt(self.max_clients)
        return math.floor(-math.log2(2 * sum_error))

    def on_grid(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The nearest multiples of 2^-grid_bits; the values themselves where the plan has no grid."""
        if not self.grid_bits:
            return values
        steps = 2.0**self.grid_bits  # a power of two: products with it are exact, and much faster than ldexp
        rounded = values * steps
        np.rint(rounded, out=rounded)
        rounded /= steps
        return rounded

    @property
    def security_bits(self) -> int:
        return seal.security_bits(self.ring_degree)

    @property
    def data_slots(self) -> int:
        """Values a chunk carries: N real places less the tags."""
        return self.ring_degree - TAGS

    @property
    def scale_bits(self) -> int:
        return math.floor(math.log2(seal.prime(self.ring_degree) / 2) - _spent_bits(self))

    @property
    def scale(self) -> float:
        return 2.0**self.scale_bits

    @property
    def noise(self) -> float:
        """Standard deviation of the error of one decrypted value, before any averaging over sites."""
        return math.sqrt(seal.NOISE_VARIANCE * self.ring_degree / 2) / self.scale

    @property
    def max_error(self) -> float:
        """The promise: no value of a decrypted mean is off by more, whatever the weights (before float32 rounding).

        On a grid, the rounding before encryption is all the error there is.
        """
        return 0.5**self.grid_bits / 2 if self.grid_bits else _SIGMAS * self.noise

    @property
    def tag_noise(self) -> float:
        """How far CKKS noise alone may move an honest tag of a single frame."""
        return _TAG_SIGMAS * self.noise

    @property
    def fresh_chunk_bytes(self) -> int:
        return self.ring_degree * seal.PRIME_BITS // 8 + seal.SEED_BYTES

    @property
    def sum_chunk_bytes(self) -> int:
        return 2 * self.ring_degree * seal.PRIME_BITS // 8

    @property
    def bytes_per_parameter(self) -> float:
        """Upload, without the frame's few hundred bytes; the aggregate that comes back costs about twice that."""
        return self.fresh_chunk_bytes / self.data_slots

    @property
    def forgery_chance(self) -> float:
        """Chance that a change of at least 1e-3 in some value of a chunk passes its tags (see tags.py)."""
        return self.missed_chance(_CHECKED_DEVIATION)

    def missed_chance(self, deviation: float) -> float:
        """Chance that a change of ``deviation`` in one value passes all tags: each is a guess at a uniform r."""
        window = self.tag_noise * math.sqrt(self.data_slots) / deviation
        return float(min(1.0, window + 2.0**-16) ** TAGS)

    @property
    def digest(self) -> bytes:
        """16 bytes every frame carries, so that parties with different plans never mix."""
        described = self.to_bytes() + struct.pack(">QdB", seal.prime(self.ring_degree), self.scale, TAGS)
        return hashlib.sha256(b"sapefl parameters 1" + described).digest()[:16]

    def chunks(self, length: int) -> int:
        return -(-length // self.data_slots)

    def to_bytes(self) -> bytes:
        return _FIELDS.pack(*astuple(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Parameters":
        try:
            values = _FIELDS.unpack(data)
        except struct.error:
            raise ParametersRejected(f"Expected {_FIELDS.size} bytes of parameters, got {len(data)}.") from None
        return cls(**dict(zip(cls.__slots__, values, strict=True)))


PARAMETERS_BYTES: Final = _FIELDS.size


def _check_fields(params: Parameters) -> None:
    if not 1 <= params.max_clients <= 2**20:
        raise ParametersRejected(f"max_clients is {params.max_clients}; choose 1 to {2**20}.")
    if not (math.isfinite(params.max_abs_value) and params.max_abs_value > 0):
        raise ParametersRejected(f"max_abs_value is {params.max_abs_value}; choose a positive, finite bound.")
    if not 0 <= params.weight_bits <= 24:
        raise ParametersRejected(f"weight_bits is {params.weight_bits}; choose 0 to 24.")
    if not (math.isfinite(params.precision) and params.precision > 0):
        raise ParametersRejected(f"precision is {params.precision}; choose a positive, finite error.")
    if not 0 <= params.grid_bits <= 40:
        raise ParametersRejected(f"grid_bits is {params.grid_bits}; choose 0 (no grid) to 40.")


def _check_security(ring_degree: int) -> None:
    if ring_degree not in (1024, 2048, 4096, 8192, 16384, 32768):
        raise ParametersRejected(f"ring_degree is {ring_degree}; choose 4096, 8192, 16384 or 32768.")
    if seal.security_bits(ring_degree) < MIN_SECURITY_BITS:
        raise ParametersRejected(
            f"ring_degree {ring_degree} with a {seal.PRIME_BITS}-bit prime gives less than {MIN_SECURITY_BITS} bits of "
            "security by SEAL's table; choose 4096 or more."
        )


def _check_budget(params: Parameters) -> None:
    if params.grid_bits and params.grid_bits > params.finest_grid_bits:
        raise ParametersRejected(
            f"{params.max_clients} sites and {params.weight_bits} weight bits allow exact sums on a grid of "
            f"2^-{params.finest_grid_bits} at the finest, not 2^-{params.grid_bits}. Use Parameters.exact to plan one."
        )
    if params.max_error > params.precision:
        raise ParametersRejected(
            f"{params.max_clients} sites, values up to {params.max_abs_value:g} and {params.weight_bits} weight bits "
            f"leave a scale of 2^{params.scale_bits} and an error of {params.max_error:.1e}, above the wanted "
            f"{params.precision:.1e}. Lower max_clients, max_abs_value or weight_bits, or accept a larger precision."
        )


def _too_coarse(plan: Parameters) -> ParametersRejected:
    bound = plan.max_abs_value
    while replace(plan, max_abs_value=bound).finest_grid_bits < _COARSEST_GRID_BITS:
        bound /= 2
    return ParametersRejected(
        f"{plan.max_clients} sites and values up to {plan.max_abs_value:g} allow exact sums in steps of "
        f"{0.5**plan.finest_grid_bits:.2g} at the finest: smaller updates would become 0. So many sites can have "
        f"values up to about {bound:.2g}; lower max_abs_value, or max_clients."
    )


def _spent_bits(params: Parameters) -> float:
    return params.weight_bits + math.log2(params.max_clients) + math.log2(_peak(params))


def _peak(params: Parameters) -> float:
    tag = math.sqrt(params.data_slots) * params.max_abs_value + 1
    return math.sqrt(2) * params.max_abs_value + 2 * TAGS / params.ring_degree * tag
