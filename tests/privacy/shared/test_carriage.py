import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import Parameters
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.grid import FEWEST_STEPS, TAIL, sensitivity
from secure_sapefl.privacy.shared.plan import SharedPlan

Make = Callable[..., SharedPlan]


def exact(sites: int) -> Parameters:
    return Parameters.exact(max_clients=sites)


def joint(sites: int) -> JointPlan:
    return Parameters.joint(max_clients=sites)


@pytest.mark.parametrize("parameters", [10, 30_000, 1_200_000])
def test_step_unit_and_noise_agree_with_each_other(plan: Make, numbers: Parameters, parameters: int) -> None:
    made = plan()
    carriage = Carriage.for_plan(made, parameters, numbers)
    assert carriage.step == carriage.unit / 2**carriage.bits
    assert carriage.sensitivity == pytest.approx(sensitivity(made.clip, carriage.step, parameters))
    noise = carriage.deviation(made.share) * carriage.step
    assert noise == pytest.approx(made.share * carriage.sensitivity)
    assert carriage.unit * numbers.max_abs_value == pytest.approx(carriage.largest + TAIL * noise)
    assert carriage.deviation(made.share) > FEWEST_STEPS


def test_rounding_costs_little(plan: Make, numbers: Parameters) -> None:
    assert Carriage.for_plan(plan(), 30_000, numbers).sensitivity < 1.01


@pytest.mark.parametrize("plan_of", [exact, joint])
@pytest.mark.parametrize("sites", [2, 12, 1000])
def test_every_number_is_on_the_grid_of_the_encryption_and_exact_in_float32(
    plan: Make, plan_of: Callable[[int], Parameters | JointPlan], sites: int
) -> None:
    numbers = plan_of(sites)
    carriage = Carriage.for_plan(plan(), 100, numbers)
    most = int(numbers.max_abs_value * 2**carriage.bits)
    whole = np.array([0, 1, -1, most, -most, most - 1, 12345])
    packed = carriage.packed(whole)
    assert (packed.astype(np.float64) * 2**carriage.bits == whole).all()
    assert (numbers.on_grid(packed.astype(np.float64)) == packed).all()


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=3), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_cutting_brings_no_two_sums_further_apart(one: list[float], more: list[float]) -> None:
    carriage = Carriage(unit=1.0, bits=4, largest=5.0, sensitivity=1.0)
    before, after = (carriage.in_steps(np.array(values)) for values in (one, np.add(one, more)))
    assert np.linalg.norm(after - before) * carriage.step <= np.linalg.norm(more) + 1e-9
    assert np.abs(after).max() * carriage.step <= 5


def test_a_site_s_largest_sum_is_its_expected_batch_of_clipped_gradients(plan: Make, numbers: Parameters) -> None:
    assert Carriage.for_plan(plan(), 100, numbers).largest == 15.0  # 0.25 * 60 records, clip 1
    assert Carriage.for_plan(plan(most_units=1), 100, numbers).largest == 1.0


def test_noise_that_would_drown_in_its_own_rounding_is_refused(plan: Make) -> None:
    wide = plan(budget=Budget(0.01, 1e-5))
    coarse = Parameters.exact(max_clients=4000)
    assert wide.share * math.sqrt(10**9) > 0
    with pytest.raises(BadInput, match="smaller model"):
        Carriage.for_plan(wide, 10**9, coarse)
