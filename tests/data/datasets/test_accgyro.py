"""A phone's samples in windows that share none."""

import numpy as np
import pytest

from secure_sapefl.data import DATASETS
from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.datasets import accgyro
from secure_sapefl.data.store import stored_arrays
from secure_sapefl.errors import BadInput, DataUnavailable


def test_accgyro_reads_its_csv(site, monkeypatch, fetched, zipped):
    header = "timestamp,accX,accY,accZ,gyroX,gyroY,gyroZ,Activity"  # the official order has the label last
    lines = [f"{i}:00.0,{i},9.8,0.5,0.1,0.2,0.3,{i % 2}" for i in range(40)]
    site.files["/a.zip"] = zipped({accgyro.CSV: "\n".join([header, *lines]).encode()})
    monkeypatch.setattr(accgyro, "URL", site.url + "a.zip")
    arrays = fetched("accgyro")
    assert arrays["X"][3].tolist() == np.array([3, 9.8, 0.5, 0.1, 0.2, 0.3], np.float32).tolist()
    assert arrays["y"].tolist() == [0, 1] * 20


def test_an_archive_of_something_else_is_refused(site, monkeypatch, fetched, zipped):
    site.files["/a.zip"] = zipped({"readme.txt": b"moved"})
    monkeypatch.setattr(accgyro, "URL", site.url + "a.zip")
    with pytest.raises(DataUnavailable, match="not the archive it was"):
        fetched("accgyro")


def test_standing_windows_are_few(real_data):
    folder = real_data("accgyro.npz")
    spec = DATASETS["accgyro"]
    arrays = stored_arrays(spec, spec.origin, folder)
    counts = {w: np.bincount(spec.origin.table(arrays, {"window": w}).y).tolist() for w in (10, 20)}
    assert counts == {10: [57, 3142], 20: [32, 1567]}


def samples(labels):
    signal = np.tile(np.array([0, 0, 9.80665, 0, 0, 0], np.float32), (len(labels), 1))
    return Arrays("a.npz", {"X": signal, "y": np.array(labels), "class_names": np.array(["standing", "walking"])})


def test_a_window_is_standing_when_half_of_it_is():
    table = accgyro.SPEC.origin.table(samples([0] * 5 + [1] * 5 + [0] * 4 + [1] * 6 + [0] * 9), {"window": 10})
    assert table.y.tolist() == [0, 1]  # nine samples left over make no window
    assert table.X.shape == (2, 112)


@pytest.mark.parametrize("window", [7, 31])
def test_a_window_that_is_too_short_or_longer_than_the_file_is_refused(window):
    with pytest.raises(BadInput, match=f"window is {window} samples, expected 8..30"):
        accgyro.SPEC.origin.table(samples([1] * 30), {"window": window})
