"""Statistics of windows whose answer is known."""

import numpy as np
import pytest

from secure_sapefl.data.signals import BANDS, SCALE, window_statistics, with_magnitudes

STATISTICS = (
    "mean",
    "log deviation",
    "minimum from mean",
    "maximum from mean",
    "log mean change",
    "lag-1 correlation",
    "log mean absolute deviation",
    "dominant frequency",
    "spectral centroid",
    "spectral entropy",
    *(f"log energy in band {band}" for band in range(1, BANDS + 1)),
)


def statistic(window: np.ndarray, name: str) -> float:
    return float(window_statistics(window[None, :, None].astype(np.float32))[0, STATISTICS.index(name)]) / SCALE


def wave(cycles: int, samples: int = 128, height: float = 1.0) -> np.ndarray:
    return height * np.sin(2 * np.pi * cycles * np.arange(samples) / samples)


def test_a_constant_signal_gives_finite_numbers_and_its_mean():
    values = window_statistics(np.full((1, 10, 1), 0.7, np.float32))
    assert np.isfinite(values).all()
    assert statistic(np.full(10, 0.7), "mean") == pytest.approx(0.7)
    assert statistic(np.full(10, 0.7), "log deviation") == pytest.approx(-1.0)


def test_a_sine_has_its_height_its_band_and_little_entropy():
    assert statistic(wave(8), "maximum from mean") == pytest.approx(1.0, abs=1e-3)
    assert statistic(wave(8), "minimum from mean") == pytest.approx(-1.0, abs=1e-3)
    assert statistic(wave(8), "spectral entropy") < 0.01
    energies = [statistic(wave(40), f"log energy in band {band}") for band in (1, 2, 3, 4)]
    assert int(np.argmax(energies)) == 2  # 40 of 64 bins is in the third quarter


def test_faster_waves_have_higher_frequencies_and_lower_correlation():
    for name in ("dominant frequency", "spectral centroid"):
        assert statistic(wave(4), name) < statistic(wave(30), name)
    assert statistic(wave(4), "lag-1 correlation") > statistic(wave(30), "lag-1 correlation")


def test_a_deviation_of_one_maps_to_one():
    assert statistic(np.tile([1.0, -1.0], 8), "log deviation") == pytest.approx(1.0)


def test_magnitudes_are_lengths_and_are_appended():
    window = np.zeros((1, 4, 3), np.float32)
    window[..., 0], window[..., 1] = 3.0, 4.0
    assert with_magnitudes(window, ((0, 1, 2),))[0, 0].tolist() == [3.0, 4.0, 0.0, 5.0]


def test_the_statistics_of_a_channel_stand_side_by_side():
    windows = np.stack([np.full(16, 1.0), np.full(16, 2.0)], axis=1)[None].astype(np.float32)
    first, second = (window_statistics(windows)[0] / SCALE).reshape(2, len(STATISTICS))
    assert first[STATISTICS.index("mean")] == pytest.approx(1.0)
    assert second[STATISTICS.index("mean")] == pytest.approx(2.0)


def test_windows_are_independent_of_each_other():
    windows = np.random.default_rng(0).normal(size=(5, 20, 2)).astype(np.float32)
    np.testing.assert_allclose(window_statistics(windows)[3:4], window_statistics(windows[3:4]), rtol=1e-5)
