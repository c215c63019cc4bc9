"""Plans cannot overflow, cannot lose a step to noise, and refuse what would be of no use or could be taken apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import Parameters, ParametersRejected
from sapefl_crypto.joint.field import PRIME
from sapefl_crypto.joint.plan import JointPlan


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0.01, 64), st.integers(0, 5))
def test_the_largest_sum_fits_and_noise_stays_within_half_a_step(clients: int, bound: float, bits: int) -> None:
    try:
        plan = Parameters.joint(max_clients=clients, max_abs_value=bound, weight_bits=bits)
    except ParametersRejected:
        assert clients * bound * 2**bits > 2**17
        return
    noise = plan.noise([2**bits] * clients)
    assert noise < 2 ** (plan.step_bits - 1)
    largest = clients * 2**bits * math.floor(bound * 2**plan.grid_bits + 0.5) * 2**plan.step_bits
    assert largest + noise < PRIME / 2
    assert largest < 2.0 ** (53 + plan.step_bits), "float64 holds every sum exactly"


def test_the_width_is_what_the_readme_says() -> None:
    """Opened sums leave errors of width sigma / sqrt(w1² + w2²) >= 3.2 · sqrt(2), for the heaviest weights allowed."""
    for bits in range(6):
        plan = Parameters.joint(max_clients=4, weight_bits=bits)
        assert plan.sigma / math.hypot(2**bits, 2**bits) >= 3.2 * math.sqrt(2) * (1 - 1e-12)


@pytest.mark.parametrize(("clients", "grid"), [(4, 30), (14, 28), (70, 24), (128, 22)])
def test_grids_of_the_readme(clients: int, grid: int) -> None:
    assert Parameters.joint(max_clients=clients).grid_bits == grid


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"weight_bits": 6}, "0 to 5"),
        ({"max_clients": 100_000}, "too coarse"),
        ({"max_abs_value": 1e9}, "too coarse"),
        ({"max_abs_value": float("nan")}, "finite"),
        ({"max_clients": 0}, "max_clients"),
    ],
)
def test_useless_and_dangerous_plans_are_refused(changed: dict[str, float], match: str) -> None:
    with pytest.raises(ParametersRejected, match=match):
        Parameters.joint(**{"max_clients": 14, **changed})  # type: ignore[arg-type]


def test_a_finer_grid_than_there_is_room_for_is_refused() -> None:
    with pytest.raises(ParametersRejected, match="would overflow"):
        JointPlan(max_clients=14, max_abs_value=8.0, weight_bits=5, grid_bits=29)


def test_plans_travel_and_differ_by_digest() -> None:
    plan = Parameters.joint(max_clients=14)
    assert JointPlan.from_bytes(plan.to_bytes()) == plan
    assert plan.digest != Parameters.joint(max_clients=13).digest
    with pytest.raises(ParametersRejected, match="14 bytes"):
        JointPlan.from_bytes(b"short")


def test_rounding_to_the_grid_is_the_nearest_multiple() -> None:
    plan = Parameters.joint(max_clients=14)
    values = np.array([0.3, -0.3, 2.0**-29, 8.0])
    assert np.abs(plan.on_grid(values) - values).max() <= plan.max_error
