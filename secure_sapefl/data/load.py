"""Finding a dataset: a registered name, or the path of a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from secure_sapefl.data.fetch import Progress
from secure_sapefl.data.own import own_table
from secure_sapefl.data.registry import DATASETS
from secure_sapefl.data.spec import Generated, Stored, checked_options
from secure_sapefl.data.store import stored_arrays
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput, UnknownName


def load_table(
    dataset: str,
    *,
    seed: int,
    data_dir: Path | None,
    options: Mapping[str, object],
    label: str | None,
    group: str | None,
    progress: Progress,
    partition: str | None = None,
) -> Table:
    """``partition`` is how the table will be divided; None: as its groups suggest."""
    if dataset not in DATASETS:
        if not looks_like_path(dataset):
            raise UnknownName("dataset", dataset, DATASETS, "secure-sapefl data list")
        return own_table(Path(dataset).expanduser(), options, label, group, partition)
    if label is not None or group is not None:
        raise BadInput(f"--label and --group name columns of a CSV file; {dataset!r} is a registered dataset.")
    spec = DATASETS[dataset]
    chosen = _for_partition(checked_options(dataset, spec.options, options), partition)
    match spec.origin:
        case Generated(table):
            return table(chosen, stream(seed, DataPurpose.GENERATE))
        case Stored() as origin:
            return origin.table(stored_arrays(spec, origin, data_dir, progress), chosen)


def _for_partition(options: dict[str, Any], partition: str | None) -> dict[str, Any]:
    """A scale of their own is for natural clients; under label skew a made-up client's mean is its label."""
    if options.get("standardise") != "auto":
        return options
    return options | {"standardise": "site" if partition in (None, "natural") else "all"}


def looks_like_path(dataset: str) -> bool:
    return "/" in dataset or Path(dataset).suffix != ""
