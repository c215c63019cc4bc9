"""Every dataset that is downloaded, from a local server with a small archive of the official layout."""

import gzip
import hashlib
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from secure_sapefl.data import DATASETS
from secure_sapefl.data.datasets import images as image_sets
from secure_sapefl.data.torchvision_sets import import_datasets

rng = np.random.default_rng(0)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@pytest.mark.parametrize(("name", "colours"), [("pneumonia", ()), ("blood", (3,))])
def test_medmnist_joins_its_three_parts(site, monkeypatch, name, colours, fetched):
    buffer = io.BytesIO()
    parts = {
        f"{part}_{kind}": rng.integers(0, 2, size=(n, *shape)).astype(np.uint8)
        for part, n in (("train", 5), ("val", 2), ("test", 3))
        for kind, shape in (("images", (28, 28, *colours)), ("labels", (1,)))
    }
    np.savez(buffer, **parts)
    key = DATASETS[name].origin.key
    site.files[f"/{key}.npz"] = buffer.getvalue()
    monkeypatch.setattr(image_sets, "MEDMNIST", site.url)
    monkeypatch.setitem(image_sets.DIGESTS, key, md5(buffer.getvalue()))
    arrays = fetched(name)
    assert arrays["X"].shape == (10, 28, 28, *colours)
    assert arrays["split"].tolist() == [0] * 5 + [1] * 2 + [2] * 3
    assert arrays["y"][:5].tolist() == parts["train_labels"][:, 0].tolist()


def idx(array: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes())


@pytest.mark.parametrize(("name", "kind"), [("mnist", "MNIST"), ("fmnist", "FashionMNIST")])
def test_idx_files_come_through_torchvision_and_a_dead_mirror_is_passed_over(site, monkeypatch, name, kind, fetched):
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


def test_emnist_comes_upright(site, monkeypatch, fetched, zipped):
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
def test_cifar_archives_come_through_torchvision(site, monkeypatch, name, kind, labels, fetched):
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
