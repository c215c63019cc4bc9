import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import Parameters, ParametersRejected, seal


def test_the_plan_for_ten_clients_worked_by_hand() -> None:
    """59 bits of half prime less 14 of weight, 3.32 of clients and log2(sqrt2·8 + 16/4096·(64·8 + 1)) = 3.74."""
    params = Parameters(max_clients=10)
    assert params.scale_bits == 37
    assert params.security_bits == 192
    assert params.max_error == pytest.approx(9 * math.sqrt((10.5 + 1 / 12) * 2048) / 2**37)
    assert params.bytes_per_parameter == (4096 * 7.5 + 64) / 4088


def test_more_clients_cost_scale_and_nothing_else() -> None:
    small, large = Parameters(max_clients=16), Parameters(max_clients=128)
    assert small.scale_bits - large.scale_bits == 3
    assert small.bytes_per_parameter == large.bytes_per_parameter


def test_ten_and_128_clients_get_the_error_they_are_promised() -> None:
    assert Parameters(max_clients=10).max_error <= 1e-8
    assert Parameters(max_clients=128).max_error <= 1e-7


@given(clients=st.integers(1, 2**12), bound=st.floats(2.0**-10, 2.0**10), bits=st.integers(0, 20), degree=st.just(4096))
def test_a_plan_that_is_not_refused_cannot_overflow(clients: int, bound: float, bits: int, degree: int) -> None:
    try:
        params = Parameters(max_clients=clients, max_abs_value=bound, weight_bits=bits, precision=1.0)
    except ParametersRejected:
        return
    tag = math.sqrt(params.data_slots) * bound + 1
    worst_mean_slot = ((degree // 2 - 8) * math.sqrt(2) * bound + 8 * math.hypot(bound, tag)) / (degree // 2)
    assert params.scale * worst_mean_slot * clients * 2**bits < seal.prime(degree) / 2


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"max_clients": 0}, "max_clients"),
        ({"max_abs_value": math.nan}, "max_abs_value"),
        ({"max_abs_value": -1.0}, "max_abs_value"),
        ({"weight_bits": 25}, "weight_bits"),
        ({"precision": 0.0}, "precision"),
        ({"ring_degree": 2048}, "128 bits"),
        ({"ring_degree": 5000}, "ring_degree"),
        ({"max_clients": 1000, "weight_bits": 20}, "above the wanted"),
    ],
)
def test_what_cannot_work_is_refused_by_name(wrong: dict[str, float], named: str) -> None:
    with pytest.raises(ParametersRejected, match=named):
        Parameters(**wrong)  # type: ignore[arg-type]


def test_digest_separates_every_field() -> None:
    plans = [
        Parameters(),
        Parameters(max_clients=127),
        Parameters(max_abs_value=4.0),
        Parameters(weight_bits=13),
        Parameters(precision=2e-6),
        Parameters(ring_degree=8192),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)
    assert Parameters.from_bytes(plans[3].to_bytes()) == plans[3]


def test_parameters_do_not_change_after_they_were_checked() -> None:
    with pytest.raises(FrozenInstanceError):
        Parameters().weight_bits = 20  # type: ignore[misc]


def test_small_changes_are_likelier_to_pass_and_large_ones_are_not() -> None:
    params = Parameters(max_clients=10)
    assert params.missed_chance(1e-9) == 1.0
    assert params.forgery_chance == params.missed_chance(1e-3) < 1e-20
    assert params.missed_chance(1.0) >= 2.0**-128
