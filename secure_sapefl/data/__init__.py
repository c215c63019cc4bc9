"""Datasets as federations of clients: a registry, partitions, preparation. NumPy only."""

from secure_sapefl.data.build import build_federation
from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.registry import DATASETS
from secure_sapefl.data.spec import DatasetSpec

__all__ = ["DATASETS", "ClientData", "DatasetSpec", "Federation", "Rows", "build_federation"]
