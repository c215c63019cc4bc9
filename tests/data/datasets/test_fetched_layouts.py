"""Every dataset that is downloaded, from a local server with a small archive of the official layout."""

import gzip
import hashlib
import io
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from secure_sapefl.data import DATASETS, build_federation
from secure_sapefl.data import medmnist as medmnist_format
from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.datasets import accgyro, blood, har, har_archive, heart, pneumonia
from secure_sapefl.data.store import fetch, stored_arrays
from secure_sapefl.data.torchvision_sets import import_datasets
from secure_sapefl.errors import DataUnavailable

rng = np.random.default_rng(0)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def fetched(name):
    spec = DATASETS[name]
    return read_npz(fetch(spec, spec.origin))


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def official_heart(site, monkeypatch):
    rows = {
        "Cleveland": "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n" * 4,
        "Hungarian": "28,1,2,130,132,0,2,185,0,0,?,?,?,0\n" * 4,
        "Switzerland": "32,1,1,95,0,?,0,127,0,.7,1,?,?,1\n" * 4,
        "VA_Long_Beach": "63,1,4,140,260,0,1,112,1,3,2,?,?,2\n" * 4,
    }
    files = {}
    for hospital, (file, _) in heart.HOSPITALS.items():
        site.files[f"/{file}"] = rows[hospital].encode()
        files[hospital] = (file, md5(rows[hospital].encode()))
    monkeypatch.setattr(heart, "BASE", site.url)
    monkeypatch.setattr(heart, "HOSPITALS", files)
    return site


def test_heart_reads_the_four_files_and_their_question_marks(official_heart):
    arrays = fetched("heart")
    assert arrays["hospital"].tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert arrays["num"].tolist()[::4] == [0, 0, 1, 2]
    assert arrays["y"].tolist()[::4] == [0, 0, 1, 1]
    assert np.isnan(arrays["X"][4, 10:]).all()
    assert arrays["X"][0, 9] == np.float32(2.3)


def test_cholesterol_zero_is_not_a_measurement(official_heart):
    table = heart.SPEC.origin.table(fetched("heart"), heart.SPEC.options)
    cholesterol = table.X[:, heart.FEATURES.index("chol")]
    assert np.isnan(cholesterol).tolist() == [False] * 8 + [True] * 4 + [False] * 4


def test_a_fetched_dataset_is_used_and_not_fetched_twice(official_heart):
    arguments = {"clients": None, "partition": None, "kappa": 0.3, "seed": 0}
    federation = build_federation("heart", **arguments)
    requests = len(official_heart.ranges)
    build_federation("heart", **arguments)
    assert [client.name for client in federation.clients] == list(heart.HOSPITALS)
    assert len(official_heart.ranges) == requests == 4


def test_a_wrong_checksum_says_what_to_do_and_leaves_no_dataset(official_heart, private_cache, monkeypatch):
    monkeypatch.setattr("secure_sapefl.data.fetch.FIRST_PAUSE", 0.0)
    official_heart.files["/processed.va.data"] += b"63,1,4,140,260,0,1,112,1,3,2,?,?,2\n"
    with pytest.raises(DataUnavailable, match=r"expected md5:.*secure-sapefl data fetch heart.*--data-dir"):
        fetched("heart")
    assert not list(private_cache.glob("*.npz"))


def test_accgyro_reads_its_csv(site, monkeypatch):
    header = "timestamp,accX,accY,accZ,gyroX,gyroY,gyroZ,Activity"  # the official order has the label last
    lines = [f"{i}:00.0,{i},9.8,0.5,0.1,0.2,0.3,{i % 2}" for i in range(40)]
    site.files["/a.zip"] = zipped({accgyro.CSV: "\n".join([header, *lines]).encode()})
    monkeypatch.setattr(accgyro, "URL", site.url + "a.zip")
    arrays = fetched("accgyro")
    assert arrays["X"][3].tolist() == np.array([3, 9.8, 0.5, 0.1, 0.2, 0.3], np.float32).tolist()
    assert arrays["y"].tolist() == [0, 1] * 20


def test_an_archive_of_something_else_is_refused(site, monkeypatch):
    site.files["/a.zip"] = zipped({"readme.txt": b"moved"})
    monkeypatch.setattr(accgyro, "URL", site.url + "a.zip")
    with pytest.raises(DataUnavailable, match="not the archive it was"):
        fetched("accgyro")


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
def test_har_reads_windows_features_and_segments(site, monkeypatch, nested):
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


@pytest.mark.parametrize(("name", "module", "colours"), [("pneumonia", pneumonia, ()), ("blood", blood, (3,))])
def test_medmnist_joins_its_three_parts(site, monkeypatch, name, module, colours):
    buffer = io.BytesIO()
    parts = {
        f"{part}_{kind}": rng.integers(0, 2, size=(n, *shape)).astype(np.uint8)
        for part, n in (("train", 5), ("val", 2), ("test", 3))
        for kind, shape in (("images", (28, 28, *colours)), ("labels", (1,)))
    }
    np.savez(buffer, **parts)
    key = DATASETS[name].origin.key
    site.files[f"/{key}.npz"] = buffer.getvalue()
    monkeypatch.setattr(medmnist_format, "RECORD", site.url)
    monkeypatch.setattr(module, "MD5", md5(buffer.getvalue()))
    arrays = fetched(name)
    assert arrays["X"].shape == (10, 28, 28, *colours)
    assert arrays["split"].tolist() == [0] * 5 + [1] * 2 + [2] * 3
    assert arrays["y"][:5].tolist() == parts["train_labels"][:, 0].tolist()


def idx(array: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes())


@pytest.mark.parametrize(("name", "kind"), [("mnist", "MNIST"), ("fmnist", "FashionMNIST")])
def test_idx_files_come_through_torchvision_and_a_dead_mirror_is_passed_over(site, monkeypatch, name, kind):
    images = rng.integers(0, 256, size=(6, 28, 28)).astype(np.uint8)
    contents = {
        "train-images-idx3-ubyte.gz": idx(images[:4]),
        "train-labels-idx1-ubyte.gz": idx(np.arange(4, dtype=np.uint8)),
        "t10k-images-idx3-ubyte.gz": idx(images[4:]),
        "t10k-labels-idx1-ubyte.gz": idx(np.arange(4, 6, dtype=np.uint8)),
    }
    site.files |= {f"/{file}": content for file, content in contents.items()}
    source = getattr(import_datasets(), kind)
    monkeypatch.setattr(source, "mirrors", [site.url + "gone/", site.url])
    monkeypatch.setattr(source, "resources", [(file, md5(content)) for file, content in contents.items()])
    arrays = fetched(name)
    np.testing.assert_array_equal(arrays["X"], images)
    assert arrays["y"].tolist() == list(range(6))
    assert arrays["split"].tolist() == [0, 0, 0, 0, 1, 1]


def test_emnist_comes_upright(site, monkeypatch):
    images = rng.integers(0, 256, size=(3, 28, 28)).astype(np.uint8)
    files = {}
    for part, rows in (("train", slice(0, 2)), ("test", slice(2, 3))):
        stored = np.ascontiguousarray(images[rows].swapaxes(1, 2))
        files[f"gzip/emnist-balanced-{part}-images-idx3-ubyte.gz"] = idx(stored)
        files[f"gzip/emnist-balanced-{part}-labels-idx1-ubyte.gz"] = idx(np.full(len(stored), 46, np.uint8))
    content = zipped(files)
    site.files["/gzip.zip"] = content
    source = import_datasets().EMNIST
    monkeypatch.setattr(source, "url", site.url + "gzip.zip")
    monkeypatch.setattr(source, "md5", md5(content))
    arrays = fetched("emnist")
    np.testing.assert_array_equal(arrays["X"], images)
    assert len(arrays["class_names"]) == 47


@pytest.mark.parametrize(
    ("name", "kind", "labels"), [("cifar10", "CIFAR10", "labels"), ("cifar100", "CIFAR100", "fine_labels")]
)
def test_cifar_archives_come_through_torchvision(site, monkeypatch, name, kind, labels):
    source = getattr(import_datasets(), kind)
    images = rng.integers(0, 256, size=(2, 3, 32, 32)).astype(np.uint8)
    batches = {
        part: pickle.dumps({"data": images[k : k + 1].reshape(1, -1), labels: [k]})
        for k, part in enumerate(("train", "test"))
    }
    meta = pickle.dumps({source.meta["key"]: ["first", "second"]})
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for file, content in {**batches, "meta": meta}.items():
            entry = tarfile.TarInfo(f"{source.base_folder}/{file}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    site.files["/cifar.tar.gz"] = buffer.getvalue()
    monkeypatch.setattr(source, "url", site.url + "cifar.tar.gz")
    monkeypatch.setattr(source, "tgz_md5", md5(buffer.getvalue()))
    monkeypatch.setattr(source, "train_list", [["train", md5(batches["train"])]])
    monkeypatch.setattr(source, "test_list", [["test", md5(batches["test"])]])
    monkeypatch.setattr(source, "meta", {"filename": "meta", "key": source.meta["key"], "md5": md5(meta)})
    arrays = fetched(name)
    np.testing.assert_array_equal(arrays["X"], images.transpose(0, 2, 3, 1))
    assert arrays["y"].tolist() == [0, 1]
    assert arrays["class_names"].tolist() == ["first", "second"]
