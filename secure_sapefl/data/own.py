"""Bring your own data: an `.npz` with X, y and optional group, split, class_names; or a table of any usual format.

A table is held to its schema (`tables/schema.py`): the one given, or else one proposed from the file. A private study
looks at no record to find out what columns are: without a schema, all of them must be numbers and none missing.

Tables (X of two dimensions) are standardised. The option ``standardise`` says from which rows: "site", from each
site's own training rows; "all", from those of all sites together; "none" leaves them as they are; "auto" is "site"
for natural groups and "all" for made-up sites. Under label skew a made-up site's mean is its label, and taking it
away takes the label's trace with it; real sites differ in instruments too, and have nobody to ask for a common scale.
``ranges = FILE.toml`` scales by public ranges (ranges.py), which learns nothing from anybody's rows.

Images are [n, h, w] or [n, h, w, c] with 1 or 3 channels: bytes are scaled to [-1, 1], floats are used as they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Array, Arrays, read_npz
from secure_sapefl.data.prepare import LearnedScale, MixedColumns, Prepare, as_given, pixels, standardise
from secure_sapefl.data.ranges import public_scale
from secure_sapefl.data.spec import Option, checked_options, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.findings import Examined, findings
from secure_sapefl.data.tables.preparation import mixed
from secure_sapefl.data.tables.propose import classes_of, propose
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import Measured, Numeric, TableSchema, load_table_schema
from secure_sapefl.data.tables.values import examined, table_of
from secure_sapefl.errors import BadInput

OPTIONS: Final[Mapping[str, Option]] = {"standardise": "auto", "ranges": ""}
CHANNELS: Final = (1, 3)
Learn = Callable[[Array], Prepare]
Scaling = Callable[[tuple[str, ...], bool], tuple[Prepare, Learn | None]]
"""From the columns of a table, and whether its sites are natural groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a file of one's own is to be read, beyond its path."""

    options: Mapping[str, object] = field(default_factory=dict)
    label: str | None = None
    group: str | None = None
    partition: str | None = None  # None: as its groups suggest
    schema: Path | None = None
    private: bool = False
    classes: tuple[str, ...] = ()  # a public list of those there are, whether or not each has a row


def own_table(source: Path | Columns, reading: Reading) -> Table:
    """From a file, or from columns that are in memory already."""
    name = source.source if isinstance(source, Columns) else source.name
    chosen = checked_options(name, OPTIONS, reading.options)
    if isinstance(source, Path) and source.suffix == ".npz" and reading.schema is None:
        if reading.label is not None or reading.group is not None:
            raise BadInput(f"{name}: --label and --group name columns; an .npz has arrays `y` and `group`.")
        return _table(read_npz(source), _scaling(name, chosen, given=reading.options), reading)
    return _by_schema(source, chosen, reading)


def _by_schema(source: Path | Columns, chosen: Mapping[str, Any], reading: Reading) -> Table:
    schema = None if reading.schema is None else load_table_schema(reading.schema)
    columns = source if isinstance(source, Columns) else read_columns(source, schema)
    if schema is None:
        schema = _without_schema(columns, reading)
    elif reading.label not in (None, schema.label) or reading.group not in (None, schema.site):
        raise BadInput(
            f"{reading.schema} says which column is the label and which the site; leave out --label, --group."
        )
    table = table_of(columns, schema)
    natural = table.group is not None if reading.partition is None else reading.partition == "natural"
    found = () if reading.private else findings(examined(table, schema))
    named = replace(table, source=f"{columns.source}, {len(columns):,} rows", findings=found)
    return _rescaled(named, schema, chosen, reading, natural)


def _without_schema(columns: Columns, reading: Reading) -> TableSchema:
    if reading.label is None:
        raise BadInput(
            f"{columns.source}: which column is the label? Name it with --label; columns: {', '.join(columns.cells)}."
        )
    if not reading.private:
        return propose(columns, label=reading.label, site=reading.group)
    return _all_numbers(columns, reading.label, reading)


def _all_numbers(columns: Columns, label: str, reading: Reading) -> TableSchema:
    """A schema that no record decides about; a file it does not fit is refused."""
    columns.named(label)
    names = [name for name in columns.cells if name not in (label, reading.group)]
    for name in names:
        bad = next((index for index, cell in enumerate(columns.cells[name]) if not _is_plain_number(cell)), None)
        if bad is not None:
            raise columns.bad(
                name,
                bad,
                "not a number. A private study must be told what its columns are without looking at records: write a "
                "schema (`secure-sapefl data schema`), correct it, and give it with --data-schema",
            )
    classes = reading.classes or tuple(classes_of(columns, label))
    features = [{"name": name} for name in names]
    values = {"label": label, "site": reading.group, "classes": classes, "features": features, "scaling": "site"}
    return TableSchema.read(values, columns.source)


def _is_plain_number(cell: str) -> bool:
    try:
        return not is_missing(cell) and bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _rescaled(table: Table, schema: TableSchema, chosen: Mapping[str, Any], reading: Reading, natural: bool) -> Table:
    """With the scale that the options ask for, or else the schema's; made-up clients share one."""
    if schema.scaling == "range" and not {"standardise", "ranges"} & set(reading.options):
        return table
    numbers = tuple(feature.name for feature in schema.features if isinstance(feature, Measured))
    prepare, learn = _scaling(table.source.partition(",")[0], chosen, given=reading.options)(numbers, natural)
    if all(isinstance(feature, Numeric) for feature in schema.features):
        return replace(table, prepare=prepare, learn=learn)
    whole: MixedColumns = mixed(schema, prepare)
    return replace(table, prepare=whole, learn=None if learn is None else whole.learned)


def _scaling(name: str, chosen: Mapping[str, Any], given: Mapping[str, object]) -> Scaling:
    if chosen["ranges"]:
        if "standardise" in given:
            raise BadInput(f"{name}: `ranges` is a way to standardise; leave out `standardise`.")
        return lambda columns, _: (public_scale(Path(chosen["ranges"]), columns), None)
    where = one_of(name, chosen, "standardise", ("auto", "site", "all", "none"))
    if where == "none":
        return lambda *_: (as_given, None)
    return lambda _, natural: (standardise, LearnedScale.from_rows if _together(where, natural=natural) else None)


def _together(where: str, *, natural: bool) -> bool:
    return where == "all" or (where == "auto" and not natural)


def _table(arrays: Arrays, scaling: Scaling, reading: Reading) -> Table:
    natural = "group" in arrays if reading.partition is None else reading.partition == "natural"
    X, prepare, learn = _features(arrays, scaling, natural=natural)
    y, class_names = _classes(arrays, len(X))
    if not reading.classes:
        _check_classes(arrays, y, class_names)
    group, group_names = _groups(arrays, len(X))
    split = arrays.integers("split", len(X), 2) if "split" in arrays else None
    table = Table(
        X=X,
        y=y,
        class_names=class_names,
        source=f"{arrays.name}, {len(X):,} rows",
        prepare=prepare,
        learn=learn,
        group=group,
        group_names=group_names,
        split=split,
    )
    look = X.ndim == 2 and not reading.private
    return replace(table, findings=findings(_examined(arrays, table))) if look else table


def _examined(arrays: Arrays, table: Table) -> Examined:
    names = _columns(arrays, table.X.shape[1])
    return Examined(
        X=table.X,
        names=names,
        levels=((),) * len(names),
        y=table.y,
        classes=table.class_names,
        label="y",
        group=table.group,
        group_names=table.group_names,
        site="group",
    )


def _features(arrays: Arrays, scaling: Scaling, *, natural: bool) -> tuple[Array, Prepare, Learn | None]:
    X = arrays["X"]
    if X.dtype.kind not in "fiub":
        raise arrays.bad("X", f"holds {X.dtype} values, expected numbers")
    if X.ndim not in (2, 3, 4) or 0 in X.shape:
        raise arrays.bad("X", f"has shape {X.shape}, expected rows x features, or images [n, h, w] or [n, h, w, c]")
    if X.ndim == 4 and X.shape[-1] not in CHANNELS:
        raise arrays.bad("X", f"has shape {X.shape}; images are [n, h, w, c] with 1 or 3 channels last")
    _check_finite(arrays, X)
    if X.ndim == 2:
        return X.astype(np.float64), *scaling(_columns(arrays, X.shape[1]), natural)
    if X.dtype == np.uint8:
        return X, pixels, None
    return X[:, None] if X.ndim == 3 else np.moveaxis(X, -1, 1), as_given, None


def _columns(arrays: Arrays, count: int) -> tuple[str, ...]:
    """Names where the file has them, else numbers from 0."""
    if "feature_names" not in arrays:
        return tuple(str(number) for number in range(count))
    names = arrays.strings("feature_names")
    if len(names) != count:
        raise arrays.bad("feature_names", f"has {len(names)} names for {count} columns")
    return names


def _check_finite(arrays: Arrays, X: Array) -> None:
    if X.dtype.kind != "f":
        return
    bad = ~np.isfinite(X) | (np.abs(X) > np.finfo(np.float32).max)
    if bad.any():
        first = np.argwhere(bad)[0]
        raise arrays.bad(
            "X",
            f"has {int(bad.sum()):,} values that are NaN, infinite or too large, the first in row {first[0]}, "
            f"column {first[1]} (counted from 0). Impute or remove them",
        )


def _classes(arrays: Arrays, rows: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    if "class_names" in arrays:
        names = arrays.strings("class_names")
        y = arrays.integers("y", rows, len(names))
    else:
        values = arrays.per_row("y", rows)
        if values.dtype.kind not in "iubU":
            raise arrays.bad("y", f"holds {values.dtype} values, expected integer or string labels")
        y, names = _codes(values)
    return y, names


def _check_classes(arrays: Arrays, y: NDArray[np.int64], names: tuple[str, ...]) -> None:
    empty = [name for name, count in zip(names, np.bincount(y, minlength=len(names)), strict=True) if count == 0]
    if empty:
        raise arrays.bad("y", f"has no row of class {empty[0]!r}. Leave the class out of `class_names` or add rows")
    if len(names) < 2:
        raise arrays.bad("y", "has a single class; a classifier needs at least two")


def _groups(arrays: Arrays, rows: int) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if "group" not in arrays:
        return None, ()
    values = arrays.per_row("group", rows)
    if values.dtype.kind not in "iubU":
        raise arrays.bad("group", f"holds {values.dtype} values, expected integer or string site names")
    return _codes(values)


def _codes(values: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names.tolist())
