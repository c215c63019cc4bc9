"""Every dataset that has a name: the paper's eight, then the medical ones."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from secure_sapefl.data.datasets import (
    accgyro,
    blood,
    cifar10,
    cifar100,
    emnist,
    fmnist,
    har,
    heart,
    mnist,
    pneumonia,
    synthetic,
)
from secure_sapefl.data.spec import DatasetSpec, Options

_MODULES = (synthetic, har, accgyro, cifar10, cifar100, mnist, fmnist, emnist, heart, pneumonia, blood)

DATASETS: Final[Mapping[str, DatasetSpec]] = MappingProxyType({module.SPEC.name: module.SPEC for module in _MODULES})


def private_options(dataset: str) -> Options:
    """How a private study prepares a dataset unless told otherwise; a file of one's own is prepared as it says."""
    return DATASETS[dataset].private_options if dataset in DATASETS else MappingProxyType({})
