"""MNIST, Fashion-MNIST, EMNIST, CIFAR-10 and CIFAR-100 through torchvision: the only importer of torchvision.

torchvision knows the addresses, the MD5 sums and the file formats; our fetcher does the downloading, so these sets
are retried and resumed like all others. torchvision then finds the verified archives in place and only unpacks them.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.spec import Layout
from secure_sapefl.errors import DataUnavailable

_held_library: Any = None  # the declared schemas live as long as this object


def import_datasets() -> ModuleType:
    """Import `torchvision.datasets`, also beside a torch built without CUDA.

    torchvision's standard wheel is built for CUDA torch. Beside a CPU-only torch its compiled operators do not load,
    and registering the shape rule of `nms` fails with "operator torchvision::nms does not exist". The datasets need
    no operator, so declaring the two schemas it asks for is enough.
    """
    global _held_library
    try:
        import torchvision.datasets
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        import torch

        _held_library = torch.library.Library("torchvision", "DEF")
        _held_library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _held_library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision.datasets
    module: ModuleType = torchvision.datasets
    return module


def fetch_idx(fetcher: Fetcher, kind: str) -> Layout:
    """``kind`` is MNIST or FashionMNIST: four gzipped idx files, from the first mirror that has them."""
    source = getattr(import_datasets(), kind)
    raw = _inside(fetcher, kind, "raw")
    for name, md5 in source.resources:
        _first_mirror(raw, source.mirrors, name, f"md5:{md5}")
    return _both_parts(lambda train: source(fetcher.folder, train=train, download=True))


def fetch_emnist(fetcher: Fetcher, split: str) -> Layout:
    source = import_datasets().EMNIST
    _inside(fetcher, "EMNIST", "raw").file(source.url, Path(source.url).name, f"md5:{source.md5}")
    layout = _both_parts(lambda train: source(fetcher.folder, split=split, train=train, download=True))
    return layout | {"X": np.ascontiguousarray(layout["X"].swapaxes(1, 2))}  # the original is stored transposed


def fetch_cifar(fetcher: Fetcher, kind: str) -> Layout:
    source = getattr(import_datasets(), kind)
    fetcher.file(source.url, source.filename, f"md5:{source.tgz_md5}")
    return _both_parts(lambda train: source(fetcher.folder, train=train, download=True))


def _both_parts(open_part: Any) -> Layout:
    parts = [open_part(train) for train in (True, False)]
    labels = [np.asarray(part.targets, dtype=np.uint8) for part in parts]
    return {
        "X": np.concatenate([np.asarray(part.data, dtype=np.uint8) for part in parts]),
        "y": np.concatenate(labels),
        "split": np.repeat(np.array([0, 1], np.uint8), [len(y) for y in labels]),
        "class_names": np.array([str(name) for name in parts[0].classes]),
        "split_names": np.array(["train", "test"]),
    }


def _inside(fetcher: Fetcher, *folders: str) -> Fetcher:
    return Fetcher(folder=fetcher.folder.joinpath(*folders), progress=fetcher.progress, pause=fetcher.pause)


def _first_mirror(fetcher: Fetcher, mirrors: list[str], name: str, checksum: str) -> Path:
    failures = []
    for mirror in mirrors:
        try:
            return fetcher.file(f"{mirror}{name}", name, checksum)
        except DataUnavailable as error:
            failures.append(str(error))
    raise DataUnavailable(" ".join(failures))
