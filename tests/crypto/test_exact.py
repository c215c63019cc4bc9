"""Plans on a grid: what comes out of decryption is, to the last bit, what the same numbers give in the clear."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import Aggregator, CohortKey, Parameters, ParametersRejected, quantise_score

ABOUT = {"study": "exact", "round_index": 2}
_KEYS: dict[int, CohortKey] = {}


def key_for(clients: int) -> CohortKey:
    if clients not in _KEYS:
        _KEYS[clients] = CohortKey.generate(Parameters.exact(max_clients=clients))
    return _KEYS[clients]


def mean_in_the_clear(params: Parameters, vectors: np.ndarray, scores: list[float]) -> np.ndarray:
    """Whole numbers of grid steps times whole weights: no rounding happens before the division."""
    steps = np.rint(vectors.astype(np.float64) * 2**params.grid_bits).astype(np.int64)
    weights = np.array([quantise_score(score, 1.0, params.weight_bits) for score in scores])
    return (weights @ steps / 2.0**params.grid_bits / weights.sum()).astype(np.float32)


def encrypted_mean(key: CohortKey, vectors: np.ndarray, scores: list[float]) -> np.ndarray:
    agg = Aggregator(key.params, **ABOUT, length=vectors.shape[1], max_score=1.0)
    for site, (vector, score) in enumerate(zip(vectors, scores, strict=True)):
        agg.add(key.encrypt(vector, **ABOUT, sender=f"site-{site}"), score)
    mean = key.decrypt(agg.finish(), **ABOUT)
    assert mean is not None
    return mean


@given(
    clients=st.sampled_from([2, 5, 14, 70]),
    length=st.sampled_from([1, 4087, 4088, 4089]),
    size=st.sampled_from([1e-6, 1e-2, 8.0]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=15, deadline=None)
def test_an_encrypted_mean_is_the_clear_one_bit_for_bit(clients: int, length: int, size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    key, present = key_for(clients), int(rng.integers(1, min(clients, 6) + 1))
    vectors = rng.uniform(-size, size, (present, length)).astype(np.float32)
    scores = list(rng.uniform(0, 1, present))
    np.testing.assert_array_equal(encrypted_mean(key, vectors, scores), mean_in_the_clear(key.params, vectors, scores))


def test_it_stays_exact_where_noise_is_largest() -> None:
    """Every planned client present, every weight at its top, every value at the bound."""
    key, rng = key_for(35), np.random.default_rng(0)
    vectors = rng.choice([-8.0, 8.0, 2.0**-20], (35, 4088)).astype(np.float32)
    scores = [1.0] * 35
    np.testing.assert_array_equal(encrypted_mean(key, vectors, scores), mean_in_the_clear(key.params, vectors, scores))


def test_two_encryptions_of_the_same_numbers_decrypt_alike() -> None:
    """Without a grid they differ in their last bits, and those bits are the noise."""
    vectors, scores = np.random.default_rng(1).uniform(-1, 1, (3, 500)).astype(np.float32), [0.3, 0.9, 1.0]
    key = key_for(5)
    np.testing.assert_array_equal(encrypted_mean(key, vectors, scores), encrypted_mean(key, vectors, scores))


@given(clients=st.integers(1, 2000), bound=st.floats(2.0**-6, 2.0**6))
@settings(deadline=None)
def test_a_planned_grid_leaves_room_for_nine_sigmas_of_noise(clients: int, bound: float) -> None:
    params = Parameters.exact(max_clients=clients, max_abs_value=bound)
    worst_sum_error = 9 * params.noise * 2**params.weight_bits * clients**0.5
    assert worst_sum_error < 0.5**params.grid_bits / 2 <= params.precision
    assert params.weight_bits >= 6
    assert Parameters.from_bytes(params.to_bytes()) == params


def test_a_grid_finer_than_the_noise_is_refused() -> None:
    with pytest.raises(ParametersRejected, match="at the finest"):
        Parameters(max_clients=128, weight_bits=14, grid_bits=20)
    with pytest.raises(ParametersRejected, match="grid_bits"):
        Parameters(grid_bits=41)


def test_rounding_to_the_grid_by_hand() -> None:
    params = Parameters.exact(max_clients=4)
    step = 0.5**params.grid_bits
    rounded = params.on_grid(np.array([0.0, 0.4 * step, 0.6 * step, -1.2 * step, 1.0]))
    assert rounded.tolist() == [0.0, 0.0, step, -step, 1.0]
    assert Parameters().on_grid(np.array([0.1])).tolist() == [0.1]


@pytest.mark.parametrize(("clients", "bound"), [(14, 1e6), (50, 1e5), (1000, 1e6), (128, 1e8), (2, 1e300)])
def test_a_grid_on_which_updates_vanish_is_refused_and_the_limit_named(clients: int, bound: float) -> None:
    with pytest.raises(ParametersRejected, match="smaller updates would become 0") as refused:
        Parameters.exact(max_clients=clients, max_abs_value=bound)
    limit = float(str(refused.value).split("up to about ")[1].split(";")[0])
    assert Parameters.exact(max_clients=clients, max_abs_value=0.95 * limit).grid_bits >= 12


@pytest.mark.parametrize(("clients", "bound"), [(2, 8.0), (14, 8.0), (128, 1000.0), (1000, 64.0)])
def test_every_plan_that_is_made_keeps_small_updates(clients: int, bound: float) -> None:
    plan = Parameters.exact(max_clients=clients, max_abs_value=bound)
    assert plan.on_grid(np.array([3e-4]))[0] != 0
