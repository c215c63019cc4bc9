"""Finding a dataset: a registered name, or the path of a file."""

from pathlib import Path
from typing import Any

from secure_sapefl import plugins
from secure_sapefl.data.fetch import Progress
from secure_sapefl.data.own import Reading, own_table
from secure_sapefl.data.registry import DATASETS, spec_of
from secure_sapefl.data.spec import Generated, Stored, checked_options
from secure_sapefl.data.store import locate, stored_arrays
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.choice import require_fixed
from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.errors import BadInput, UnknownName


def load_table(
    dataset: str | Columns, reading: Reading, *, seed: int, data_dir: Path | None, progress: Progress
) -> Table:
    spec = None if isinstance(dataset, Columns) else spec_of(dataset)
    if isinstance(dataset, Columns) or spec is None:
        return own_table(_source(dataset), reading)
    if (reading.label, reading.group, reading.schema) != (None, None, None):
        raise BadInput(
            f"--label, --group and --data-schema are for a file of one's own; {dataset!r} is a registered dataset."
        )
    require_fixed(repr(dataset), reading.preparation)
    wanted = {} if reading.labels is None or "labels" not in spec.options else {"labels": reading.labels}
    chosen = _for_partition(checked_options(dataset, spec.options, {**wanted, **reading.options}), reading.partition)
    match spec.origin:
        case Generated(table):
            return table(chosen, stream(seed, DataPurpose.GENERATE))
        case Stored() as origin:
            if reading.private:
                _require_stored_segments(dataset, origin, data_dir)
            return origin.table(stored_arrays(spec, origin, data_dir, progress), chosen)


def _source(dataset: str | Columns) -> Path | Columns:
    if isinstance(dataset, Columns):
        return dataset
    if not looks_like_path(dataset):
        raise UnknownName("dataset", dataset, {*DATASETS, *plugins.offered("dataset")}, "secure-sapefl data list")
    return Path(dataset).expanduser()


def _for_partition(options: dict[str, Any], partition: str | None) -> dict[str, Any]:
    """A scale of their own is for natural sites; under label skew a made-up site's mean is its label."""
    if options.get("standardise") != "auto":
        return options
    return options | {"standardise": "site" if partition in (None, "natural") else "all"}


def _require_stored_segments(dataset: str, origin: Stored, data_dir: Path | None) -> None:
    """A publisher's folder is numbered into segments as it is read: one row less would rename all that follow."""
    if (found := locate(origin, data_dir)) is not None and found.is_dir():
        raise BadInput(
            f"{dataset}: a private study reads rows whose segments are written beside them, and {found} has none. "
            f"Store the dataset first: `secure-sapefl data fetch {dataset}`, without that folder in --data-dir."
        )


def looks_like_path(dataset: str) -> bool:
    return "/" in dataset or Path(dataset).suffix != "" or Path(dataset).expanduser().is_dir()
