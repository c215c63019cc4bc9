"""The archive format of MedMNIST v2: `train_images`, `train_labels` [n, 1], and the same for val and test."""

from typing import Final

import numpy as np

from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.spec import Layout

RECORD: Final = "https://zenodo.org/records/10519652/files/"
PARTS: Final = ("train", "val", "test")


def fetch_medmnist(fetcher: Fetcher, name: str, md5: str, class_names: tuple[str, ...]) -> Layout:
    arrays = read_npz(fetcher.file(f"{RECORD}{name}.npz?download=1", f"{name}.npz", f"md5:{md5}"))
    labels = [arrays[f"{part}_labels"].reshape(-1).astype(np.uint8) for part in PARTS]
    return {
        "X": np.concatenate([arrays[f"{part}_images"] for part in PARTS]),
        "y": np.concatenate(labels),
        "split": np.repeat(np.arange(len(PARTS), dtype=np.uint8), [len(y) for y in labels]),
        "class_names": np.array(class_names),
        "split_names": np.array(PARTS),
    }
