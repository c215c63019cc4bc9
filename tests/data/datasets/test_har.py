"""Windows of 30 people: features official or derived, overlapping windows on one side."""

import numpy as np
import pytest

from secure_sapefl.data import DATASETS, build_federation
from secure_sapefl.data.datasets import har, har_archive
from secure_sapefl.data.store import stored_arrays

rng = np.random.default_rng(0)


def har_files() -> tuple[dict[str, bytes], np.ndarray]:
    """Two subjects, two windows each side; the two windows of a side overlap by half."""
    files, windows = {}, []
    for part in har_archive.PARTS:
        signal = rng.normal(size=(192, 9)).astype(np.float32)
        pair = np.stack([signal[:128], signal[64:]])
        windows.append(pair)
        for k, channel in enumerate(har_archive.CHANNELS):
            text = "\n".join(" ".join(f"{value:.9e}" for value in window) for window in pair[:, :, k])
            files[f"UCI HAR Dataset/{part}/Inertial Signals/{channel}_{part}.txt"] = text.encode()
        files[f"UCI HAR Dataset/{part}/X_{part}.txt"] = b" 0.5" * 561 + b"\n" + b" -0.5" * 561
        files[f"UCI HAR Dataset/{part}/y_{part}.txt"] = b"5\n5\n"
        files[f"UCI HAR Dataset/{part}/subject_{part}.txt"] = b"7\n7\n" if part == "train" else b"9\n9\n"
    return files, np.concatenate(windows)


@pytest.mark.parametrize("nested", [True, False])
def test_har_reads_windows_features_and_segments(site, monkeypatch, nested, fetched, zipped):
    files, windows = har_files()
    content = zipped({"UCI HAR Dataset.zip": zipped(files)}) if nested else zipped(files)
    site.files["/har.zip"] = content
    monkeypatch.setattr(har, "URL", site.url + "har.zip")
    arrays = fetched("har")
    np.testing.assert_array_equal(arrays["X"], windows)
    assert arrays["segment"].tolist() == [0, 0, 1, 1]
    assert arrays["subject"].tolist() == [7, 7, 9, 9]
    assert arrays["y"].tolist() == [4] * 4
    assert arrays["features"].shape == (4, 561)


def test_har_uses_the_official_features_of_an_unpacked_folder(tmp_path):
    files, _ = har_files()
    for name, content in files.items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    spec = DATASETS["har"]
    arrays = stored_arrays(spec, spec.origin, tmp_path / "mine")
    assert spec.origin.table(arrays, {"features": "auto"}).X.shape == (4, 561)
    assert spec.origin.table(arrays, {"features": "derived"}).X.shape == (4, 168)


def test_subjects_are_clients_and_segments_stay_on_one_side(real_data):
    folder = real_data("uci_har_inertial.npz")
    spec = DATASETS["har"]
    table = spec.origin.table(stored_arrays(spec, spec.origin, folder), {"features": "auto"})
    federation = build_federation("har", clients=None, partition=None, kappa=0.3, seed=0, data_dir=folder)
    assert len(federation.clients) == 30
    segment_of = {row.tobytes(): segment for row, segment in zip(table.X, table.segment, strict=True)}
    for client in federation.clients:
        sides = [{segment_of[row.tobytes()] for row in side.X} for side in (client.train, client.test)]
        assert not sides[0] & sides[1]


def test_raw_windows_are_rows_of_steps_and_channels(site, monkeypatch, fetched, zipped):
    files, windows = har_files()
    site.files["/har.zip"] = zipped(files)
    monkeypatch.setattr(har, "URL", site.url + "har.zip")
    table = DATASETS["har"].origin.table(fetched("har"), {"features": "raw"})
    np.testing.assert_array_equal(table.X, windows)
    assert "raw features" in table.source
