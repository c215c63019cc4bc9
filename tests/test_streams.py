"""Random streams are a contract: the same key gives the same draws in every release."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.streams import Purpose, stream

keys = st.tuples(st.integers(0, 2**64), st.sampled_from(Purpose), st.integers(0, 10_000), st.integers(0, 10_000))


def draws(key: tuple[int, Purpose, int, int]) -> list[int]:
    seed, purpose, round_index, site = key
    return stream(seed, purpose, round_index=round_index, site=site).integers(2**63, size=4).tolist()


GOLDEN = {
    (0, Purpose.INITIAL_WEIGHTS, 0, 0): [957406, 311363, 562967],
    (1, Purpose.SAMPLE_SITES, 3, 0): [43649, 423747, 74069],
    (2, Purpose.LOCAL_BATCHES, 7, 11): [223658, 165354, 781373],
    (123456789, Purpose.SIMILARITY_ROWS, 199, 99): [699884, 937708, 688432],
}


@pytest.mark.parametrize("key", GOLDEN, ids=str)
def test_draws_are_frozen(key: tuple[int, Purpose, int, int]) -> None:
    seed, purpose, round_index, site = key
    rng = stream(seed, purpose, round_index=round_index, site=site)
    assert rng.integers(1_000_000, size=3).tolist() == GOLDEN[key]


def test_permutations_are_frozen() -> None:
    """Batches are permutations, cohorts choices: their algorithms are part of the contract as well."""
    rng = stream(0, Purpose.LOCAL_BATCHES, round_index=1, site=2)
    assert rng.permutation(8).tolist() == [7, 6, 4, 2, 0, 5, 1, 3]
    assert stream(0, Purpose.SAMPLE_SITES).choice(20, 5, replace=False).tolist() == [15, 7, 9, 5, 14]


def test_purposes_keep_their_numbers() -> None:
    first = [
        "INITIAL_WEIGHTS",
        "SAMPLE_SITES",
        "LOCAL_BATCHES",
        "PERSONAL_BATCHES",
        "CHOOSE_PEERS",
        "SIMILARITY_ROWS",
    ]
    assert [Purpose(number).name for number in range(1, 7)] == first
    assert len({purpose.value for purpose in Purpose}) == len(Purpose.__members__)  # no two share a stream


@given(keys)
def test_a_stream_can_be_opened_again(key: tuple[int, Purpose, int, int]) -> None:
    assert draws(key) == draws(key)


@given(keys, keys)
def test_different_keys_give_different_streams(
    left: tuple[int, Purpose, int, int], right: tuple[int, Purpose, int, int]
) -> None:
    assert (draws(left) == draws(right)) == (left == right)


def test_neighbouring_streams_are_uncorrelated() -> None:
    """400 streams a step apart in one part of the key, 50 draws each: no correlation beyond six sigma."""
    keys = itertools.product(range(2), list(Purpose)[:2], range(10), range(10))
    rows = np.array([stream(s, p, round_index=t, site=c).standard_normal(50) for s, p, t, c in keys])
    correlation = np.corrcoef(rows)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 6 / np.sqrt(50)
    assert abs(correlation.mean()) < 0.001
