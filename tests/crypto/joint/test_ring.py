"""Products in the ring, against polynomials whose products are known by hand."""

import numpy as np
import pytest

from sapefl_crypto.joint.field import PRIME, RING_DEGREE
from sapefl_crypto.joint.ring import GROUP, Multiplier, public_polynomials
from sapefl_crypto.secret import Secret

PUBLIC = Secret(bytes(range(32)))


def power_of_x(exponent: int) -> np.ndarray:
    polynomial = np.zeros(RING_DEGREE, np.uint64)
    polynomial[exponent] = 1
    return polynomial


@pytest.mark.parametrize("chunks", [1, GROUP, GROUP + 1])
def test_times_one_is_the_public_polynomial_itself(attacker, chunks: int) -> None:
    products = np.concatenate(list(Multiplier(attacker.to_ntt(power_of_x(0))).products(PUBLIC, chunks)))
    assert products.shape == (chunks, RING_DEGREE)
    for product, public in zip(products, public_polynomials(PUBLIC, 0, chunks), strict=True):
        np.testing.assert_array_equal(product, attacker.from_ntt(public))


def test_times_x_moves_every_coefficient_and_the_last_comes_back_with_the_other_sign(attacker) -> None:
    (once,) = Multiplier(attacker.to_ntt(power_of_x(0))).products(PUBLIC, 1)
    (moved,) = Multiplier(attacker.to_ntt(power_of_x(1))).products(PUBLIC, 1)
    np.testing.assert_array_equal(moved[0, 1:], once[0, :-1])
    assert int(moved[0, 0]) == (PRIME - int(once[0, -1])) % PRIME


def test_another_occasion_has_other_polynomials() -> None:
    assert not np.array_equal(public_polynomials(PUBLIC, 0, 1), public_polynomials(Secret(bytes(32)), 0, 1))
    np.testing.assert_array_equal(public_polynomials(PUBLIC, 0, 3)[2], public_polynomials(PUBLIC, 2, 1)[0])
