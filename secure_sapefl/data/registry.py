"""Every dataset that has a name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from secure_sapefl.data.datasets import synthetic
from secure_sapefl.data.spec import DatasetSpec

DATASETS: Final[Mapping[str, DatasetSpec]] = MappingProxyType(
    {module.SPEC.name: module.SPEC for module in (synthetic,)}
)
