"""Statistics of sensor windows in time and frequency.

Every number is a fixed formula of one window, so nothing is learned from other rows. Spreads and energies enter as
logarithms: they run over several orders of magnitude between lying down and running down a stair, and a network
trained at one rate for all sites wants inputs near 1.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Windows = NDArray[np.float32]  # [n, samples, channels]

FLOOR: Final = 1e-3  # below the sensors' noise; keeps the logarithms finite on a constant signal
SCALE: Final = 2.0  # brings the spread of most statistics near 1
BANDS: Final = 4  # of equal width, from above 0 to half the sampling rate


def with_magnitudes(windows: Windows, triples: tuple[tuple[int, int, int], ...]) -> Windows:
    """Append the length of each three-axis vector as a channel: it does not depend on how the phone is held."""
    lengths = [np.linalg.norm(windows[:, :, list(axes)], axis=2) for axes in triples]
    return np.concatenate([windows, np.stack(lengths, axis=2)], axis=2)


def window_statistics(windows: Windows) -> NDArray[np.float32]:
    """[n, channels * (10 + BANDS)], the statistics of one channel side by side."""
    columns = np.stack([*_in_time(windows), *_in_frequency(windows)], axis=2)
    return (SCALE * columns).reshape(len(windows), -1).astype(np.float32)


def _in_time(windows: Windows) -> list[NDArray[np.float32]]:
    mean = windows.mean(axis=1)
    centred = windows - mean[:, None]
    variance = (centred**2).mean(axis=1)
    return [
        mean,
        _log(np.sqrt(variance)),
        centred.min(axis=1),
        centred.max(axis=1),
        _log(np.abs(np.diff(windows, axis=1)).mean(axis=1)),
        (centred[:, 1:] * centred[:, :-1]).mean(axis=1) / (variance + FLOOR**2),
        _log(np.abs(centred).mean(axis=1)),
    ]


def _in_frequency(windows: Windows) -> list[NDArray[np.float32]]:
    """Of the power spectrum without its constant term; frequencies as fractions of half the sampling rate."""
    centred = windows - windows.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, axis=1)[:, 1:]) ** 2 / windows.shape[1] ** 2
    share = power / (power.sum(axis=1, keepdims=True) + FLOOR**2)
    frequency = np.arange(1, power.shape[1] + 1) / power.shape[1]
    entropy = -(share * np.log(share + 1e-12)).sum(axis=1) / np.log(power.shape[1])
    bands = [_log(np.sqrt(band.sum(axis=1))) for band in np.array_split(power, BANDS, axis=1)]
    return [
        _log(frequency[power.argmax(axis=1)]),
        _log((share * frequency[None, :, None]).sum(axis=1)),
        entropy,
        *bands,
    ]


def _log(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Natural logarithm moved and scaled so that FLOOR is -1 and 1 (a g, a radian per second) is 1."""
    scaled: NDArray[np.float32] = 1.0 - 2.0 * np.log(np.maximum(values, FLOOR)) / np.log(FLOOR)
    return scaled
