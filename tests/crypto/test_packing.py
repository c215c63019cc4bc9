import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sapefl_crypto import Parameters, ValueRejected
from sapefl_crypto.packing import checked, from_slots, pack, to_chunks, to_slots, unpack

SIXTY_BITS = st.integers(0, 2**60 - 1)


@given(hnp.arrays(np.uint64, st.integers(1, 40).map(lambda half: 2 * half), elements=SIXTY_BITS))
def test_packing_loses_nothing_and_takes_seven_and_a_half_bytes(numbers: np.ndarray) -> None:
    packed = pack(numbers)
    assert len(packed) * 2 == numbers.size * 15
    assert np.array_equal(unpack(packed), numbers)


def test_packed_planes_by_hand() -> None:
    numbers = np.array([0x0123456789ABCDE, 0xFEDCBA987654321], np.uint64)
    assert pack(numbers).hex() == "deBC9A7856341210".lower() + "32547698" + "badc" + "fe"


@given(hnp.arrays(np.float64, st.integers(1, 30).map(lambda half: 2 * half), elements=st.floats(-8, 8)))
def test_slots_carry_two_reals_each(places: np.ndarray) -> None:
    [slots] = to_slots(places[None])
    assert slots.size * 2 == places.size
    assert np.array_equal(from_slots(slots), places)


@pytest.mark.parametrize(("length", "chunks"), [(1, 1), (4087, 1), (4088, 1), (4089, 2), (1_228_038, 301)])
def test_chunks_are_padded_with_zeros(params: Parameters, length: int, chunks: int) -> None:
    cut = to_chunks(np.ones(length), params)
    assert cut.shape == (chunks, 4088) == (params.chunks(length), params.data_slots)
    assert cut.sum() == length


@pytest.mark.parametrize(
    "vector",
    [
        np.array([], np.float32),
        np.zeros((2, 2), np.float32),
        np.array([1, 2]),
        np.array(["a"]),
        np.array([np.nan], np.float32),
        np.array([np.inf], np.float32),
        np.array([8.01], np.float32),
        np.array([-8.01], np.float32),
    ],
)
def test_what_does_not_fit_is_refused_not_clipped(params: Parameters, vector: np.ndarray) -> None:
    with pytest.raises(ValueRejected):
        checked(vector, params)


def test_the_bound_itself_fits(params: Parameters) -> None:
    assert np.array_equal(checked(np.array([8.0, -8.0], np.float32), params), [8.0, -8.0])
