"""Datasets as federations of sites: a registry, partitions, preparation. NumPy only."""

from secure_sapefl.data.build import build_federation
from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.fetch import Progress, no_progress
from secure_sapefl.data.partition import PARTITIONS
from secure_sapefl.data.registry import DATASETS, private_options, spec_of
from secure_sapefl.data.spec import DatasetSpec
from secure_sapefl.data.tables.readers import frame_columns

__all__ = [
    "DATASETS",
    "PARTITIONS",
    "ClientData",
    "DatasetSpec",
    "Federation",
    "Progress",
    "Rows",
    "build_federation",
    "frame_columns",
    "no_progress",
    "private_options",
    "spec_of",
]
