import numpy as np
import pytest

from sapefl_crypto import CohortKey, Parameters, ValueRejected
from sapefl_crypto.release import FLOOD, MAX_RELEASES, release_noise


@pytest.fixture
def fresh(key: CohortKey) -> CohortKey:
    return CohortKey.from_secret(key.export_secret())


def test_noise_is_gaussian_of_the_stated_width(fresh: CohortKey) -> None:
    released = fresh.decode_for_release(np.zeros(200_001, np.float64), decryptions=4, earlier_releases=0)
    expected = FLOOD * np.sqrt(MAX_RELEASES * 4) * fresh.params.noise
    assert released.dtype == np.float32
    assert released.std() == pytest.approx(expected, rel=0.01)
    assert abs(released.mean()) < expected / 50
    assert (np.abs(released) > 2 * expected).mean() == pytest.approx(0.0455, abs=0.003)


def test_noise_dwarfs_what_it_hides(params: Parameters) -> None:
    assert release_noise(params, 1) >= 256 * params.noise
    assert release_noise(params, 100) == pytest.approx(10 * release_noise(params, 1))


def test_noise_is_fresh_every_time(fresh: CohortKey) -> None:
    first, second = (fresh.decode_for_release(np.zeros(99), decryptions=1, earlier_releases=0) for _ in range(2))
    assert not np.intersect1d(first, second).size


def test_releases_are_counted_by_the_ledger_and_by_the_key(fresh: CohortKey) -> None:
    with pytest.raises(ValueRejected, match="rotate"):
        fresh.decode_for_release(np.zeros(2), decryptions=1, earlier_releases=MAX_RELEASES)
    for _ in range(MAX_RELEASES):
        fresh.decode_for_release(np.zeros(2), decryptions=1, earlier_releases=0)
    with pytest.raises(ValueRejected, match="rotate"):
        fresh.decode_for_release(np.zeros(2), decryptions=1, earlier_releases=0)


@pytest.mark.parametrize(("vector", "decryptions"), [(np.zeros(2), 0), (np.array([np.nan]), 1), (np.zeros((2, 2)), 1)])
def test_what_cannot_be_released_is_refused_and_not_counted(
    fresh: CohortKey, vector: np.ndarray, decryptions: int
) -> None:
    with pytest.raises(ValueRejected):
        fresh.decode_for_release(vector, decryptions=decryptions, earlier_releases=0)
    for _ in range(MAX_RELEASES):
        fresh.decode_for_release(np.zeros(2), decryptions=1, earlier_releases=0)
