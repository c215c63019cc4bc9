"""Every dataset that has a name: the paper's eight, then the medical ones."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from secure_sapefl import plugins
from secure_sapefl.data.datasets import accgyro, har, heart, images, synthetic
from secure_sapefl.data.spec import DatasetSpec, Options
from secure_sapefl.errors import BadInput

_ALL = (synthetic.SPEC, har.SPEC, accgyro.SPEC, *images.PAPERS, heart.SPEC, *images.MEDICAL)

DATASETS: Final[Mapping[str, DatasetSpec]] = MappingProxyType({spec.name: spec for spec in _ALL})


def spec_of(name: str) -> DatasetSpec | None:
    """A dataset of ours, or of an installed package; None where nobody has one of this name."""
    if name in DATASETS:
        return DATASETS[name]
    found = plugins.find("dataset", name)
    if found is None:
        return None
    if not isinstance(found.value, DatasetSpec):
        raise BadInput(
            f"The dataset {found.name!r} is {type(found.value).__name__}, expected a DatasetSpec of secure_sapefl.data."
        )
    return found.value


def private_options(dataset: str) -> Options:
    """How a private study prepares a dataset unless told otherwise; a file of one's own is prepared as it says."""
    spec = spec_of(dataset)
    return MappingProxyType({}) if spec is None else spec.private_options
