"""Image datasets: the paper's five through torchvision, and two medical ones of MedMNIST v2.

Bytes 0..255 in the file, [-1, 1] channels first for the model. The official train/test split is not used: as in the
paper, all images are divided among the sites, and each site's share is split 80/20.

The splits of EMNIST differ in their classes, so a run records which file it read. A file of the "MNIST" split holds
digits only and does not stand for the balanced split the fetch command gets.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.prepare import pixels
from secure_sapefl.data.spec import DatasetSpec, Layout, Options, Stored
from secure_sapefl.data.table import Table
from secure_sapefl.data.torchvision_sets import fetch_cifar, fetch_emnist, fetch_idx

PREPARATION: Final = "pixel / 127.5 - 1, the same at every site; official train and test rows pooled"
MEDMNIST: Final = "https://zenodo.org/records/10519652/files/"
PARTS: Final = ("train", "val", "test")
DIGESTS: Final = {  # MD5, published with MedMNIST v2
    "pneumoniamnist": "28209eda62fecd6e6a2d98b1501bb15f",
    "bloodmnist": "7053d0359d879ad8a5505303e11de1dc",
}
BLOOD_CELLS: Final = "basophil eosinophil erythroblast immature_granulocytes lymphocyte monocyte neutrophil platelet"


def image_table(arrays: Arrays, _options: Options) -> Table:
    X = arrays["X"]
    if X.dtype != np.uint8 or X.ndim not in (3, 4):
        raise arrays.bad("X", f"is {X.dtype} of shape {X.shape}, expected bytes [n, h, w] or [n, h, w, c]")
    y, class_names = arrays.labels(len(X))
    source = f"{arrays.name}, {len(X):,} rows"
    return Table(X=X, y=y, class_names=class_names, source=source, prepare=pixels)


def fetch_medmnist(fetcher: Fetcher, name: str, class_names: str) -> Layout:
    """The archive holds `train_images`, `train_labels` [n, 1], and the same for val and test."""
    arrays = read_npz(fetcher.file(f"{MEDMNIST}{name}.npz?download=1", f"{name}.npz", f"md5:{DIGESTS[name]}"))
    labels = [arrays[f"{part}_labels"].reshape(-1).astype(np.uint8) for part in PARTS]
    return {
        "X": np.concatenate([arrays[f"{part}_images"] for part in PARTS]),
        "y": np.concatenate(labels),
        "split": np.repeat(np.arange(len(PARTS), dtype=np.uint8), [len(y) for y in labels]),
        "class_names": np.array(class_names.split()),
        "split_names": np.array(PARTS),
    }


def _images(
    name: str, task: str, classes: str, rows: int, licence: str, source: str, key: str, fetch: Callable[..., Layout]
) -> DatasetSpec:
    return DatasetSpec(
        name=name,
        task=task,
        classes=classes,
        rows=rows,
        licence=licence,
        source=source,
        preparation=PREPARATION,
        origin=Stored(key=key, table=image_table, fetch=fetch),
    )


_TINY_IMAGES: Final = "Krizhevsky, 'Learning Multiple Layers of Features from Tiny Images', 2009"
_FREE_FOR_RESEARCH: Final = "none stated; free for research with citation"
_MEDMNIST_PAPER: Final = "Yang et al., 'MedMNIST v2', Scientific Data 2023; images:"

PAPERS: Final = (
    _images(
        "cifar10", "photographs of animals and vehicles, 32x32 RGB", "10", 60_000, _FREE_FOR_RESEARCH,
        _TINY_IMAGES, "cifar10", partial(fetch_cifar, kind="CIFAR10"),
    ),
    _images(
        "cifar100", "photographs of 100 kinds of things, 32x32 RGB", "100", 60_000, _FREE_FOR_RESEARCH,
        _TINY_IMAGES, "cifar100", partial(fetch_cifar, kind="CIFAR100"),
    ),
    _images(
        "mnist", "handwritten digits, 28x28 grey", "10", 70_000, "CC BY-SA 3.0 (as commonly stated)",
        "LeCun, Cortes, Burges, 'The MNIST database of handwritten digits'", "mnist", partial(fetch_idx, kind="MNIST"),
    ),
    _images(
        "fmnist", "articles of clothing, 28x28 grey", "10", 70_000, "MIT",
        "Xiao, Rasul, Vollgraf, 'Fashion-MNIST', arXiv:1708.07747", "fashion_mnist",
        partial(fetch_idx, kind="FashionMNIST"),
    ),
    _images(
        "emnist", "handwritten letters and digits (fetched: the balanced split; a local file may hold digits only)",
        "47 (balanced) or 10 (digits)", 131_600, "US-government work, free to use with citation",
        "Cohen, Afshar, Tapson, van Schaik, 'EMNIST: an extension of MNIST to handwritten letters', 2017", "emnist",
        partial(fetch_emnist, split="balanced"),
    ),
)  # fmt: skip
MEDICAL: Final = (
    _images(
        "pneumonia", "chest X-rays: normal or pneumonia, 28x28 grey", "2", 5_856, "CC BY 4.0",
        f"{_MEDMNIST_PAPER} Kermany et al., Cell 2018", "pneumoniamnist",
        partial(fetch_medmnist, name="pneumoniamnist", class_names="normal pneumonia"),
    ),
    _images(
        "blood", "kinds of blood cells, 28x28 RGB", "8", 17_092, "CC BY 4.0",
        f"{_MEDMNIST_PAPER} Acevedo et al., Data in Brief 2020", "bloodmnist",
        partial(fetch_medmnist, name="bloodmnist", class_names=BLOOD_CELLS),
    ),
)  # fmt: skip
