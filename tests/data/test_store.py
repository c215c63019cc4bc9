"""Which file serves a dataset."""

import numpy as np
import pytest

from secure_sapefl.data import DATASETS, build_federation
from secure_sapefl.data.store import cache_folder, locate, save_layout
from secure_sapefl.errors import BadInput, DataUnavailable, OutputFailed

CIFAR10, HAR = DATASETS["cifar10"].origin, DATASETS["har"].origin


def images(path, rows=60):
    path.parent.mkdir(parents=True, exist_ok=True)
    X = np.zeros((rows, 32, 32, 3), np.uint8)
    np.savez(path, X=X, y=np.arange(rows) % 2, class_names=np.array(["a", "b"]))
    return path


def test_cifar10_is_not_served_by_a_file_of_cifar100(tmp_path):
    images(tmp_path / "cifar100_12k.npz")
    assert locate(CIFAR10, tmp_path) is None
    mine = images(tmp_path / "cifar10_18k.npz")
    assert locate(CIFAR10, tmp_path) == mine


def test_the_users_folder_comes_before_the_cache(tmp_path, private_cache, monkeypatch):
    cached = images(private_cache / "cifar10.npz")
    assert locate(CIFAR10, tmp_path) == cached
    mine = images(tmp_path / "mine" / "cifar10.npz")
    monkeypatch.setenv("SAPEFL_DATA", str(tmp_path / "mine"))
    assert locate(CIFAR10, None) == mine
    monkeypatch.delenv("SAPEFL_DATA")
    assert locate(CIFAR10, None) == cached


def test_data_dir_comes_before_the_environment(tmp_path, monkeypatch):
    images(tmp_path / "environment" / "cifar10.npz")
    chosen = images(tmp_path / "argument" / "cifar10.npz")
    monkeypatch.setenv("SAPEFL_DATA", str(tmp_path / "environment"))
    assert locate(CIFAR10, tmp_path / "argument") == chosen


def test_two_files_for_one_dataset_are_a_question_not_a_choice(tmp_path):
    images(tmp_path / "cifar10_a.npz")
    images(tmp_path / "cifar10_b.npz")
    with pytest.raises(BadInput, match=r"2 files for 'cifar10': cifar10_a.npz, cifar10_b.npz"):
        locate(CIFAR10, tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match=r"--data-dir names .*nowhere"):
        locate(CIFAR10, tmp_path / "nowhere")
    monkeypatch.setenv("SAPEFL_DATA", str(tmp_path / "gone"))
    with pytest.raises(BadInput, match=r"SAPEFL_DATA names .*gone"):
        locate(CIFAR10, None)


def test_the_run_records_file_and_rows(tmp_path):
    images(tmp_path / "cifar10_18k.npz")
    federation = build_federation("cifar10", clients=3, partition="iid", kappa=1.0, seed=0, data_dir=tmp_path)
    assert federation.source == "cifar10_18k.npz, 60 rows"
    assert federation.shape == (3, 32, 32)


def test_a_registered_file_of_the_wrong_kind_is_refused(tmp_path):
    np.savez(tmp_path / "cifar10.npz", X=np.zeros((60, 5)), y=np.arange(60) % 2, class_names=np.array(["a", "b"]))
    with pytest.raises(BadInput, match=r"cifar10.npz: array 'X' is float64 of shape \(60, 5\)"):
        build_federation("cifar10", clients=3, partition="iid", kappa=1.0, seed=0, data_dir=tmp_path)


def test_without_file_and_network_the_error_says_what_to_do(tmp_path, monkeypatch):
    from secure_sapefl.data.datasets import har

    monkeypatch.setattr(har, "URL", "http://127.0.0.1:1/har.zip")
    monkeypatch.setattr("secure_sapefl.data.fetch.FIRST_PAUSE", 0.0)
    with pytest.raises(DataUnavailable, match=r"data fetch har`.*uci_har\*\.npz.*SAPEFL_DATA"):
        build_federation("har", clients=None, partition=None, kappa=0.3, seed=0, data_dir=tmp_path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    target = tmp_path / "x.npz"
    target.write_bytes(b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OutputFailed, match="No space left"):
        save_layout(target, {"X": np.zeros(1)})
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("x.npz", b"old")]


def test_the_cache_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("SAPEFL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "secure-sapefl"
