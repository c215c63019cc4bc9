"""Bring your own data: an `.npz` with X, y and optional group, split, class_names; or a table of any usual format.

A table is held to its schema (`tables/schema.py`): the one given, or else one proposed from the file. A private study
looks at no record to find out what columns are: without a schema, all of them must be numbers and none missing.

Tables (X of two dimensions) are put on a scale; `tables/choice.py` says on which.

Images are [n, h, w] or [n, h, w, c] with 1 or 3 channels: bytes are scaled to [-1, 1], floats are used as they are.
Rows of any other shape are used as they are with ``layout = as-given``: sequences [n, steps, channels], say.

Labels are classes unless the task reads something else: then ``y`` is a number a row, or has a column a label.
``target = LOW,HIGH`` is what a number may be, as public knowledge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import PreparationName
from secure_sapefl.data.arrays import Array, Arrays, read_npz
from secure_sapefl.data.folders.labelled import LABEL, Roles, own_folder
from secure_sapefl.data.prepare import Prepare, as_given, pixels
from secure_sapefl.data.spec import checked_options, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.array_labels import codes, labels_of
from secure_sapefl.data.tables.choice import OPTIONS, Wish, prepared, require_fixed
from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.examined import Examined, Finding
from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.findings import findings
from secure_sapefl.data.tables.propose import guessed_site, label_columns, label_settings, propose
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import TableSchema, load_table_schema
from secure_sapefl.data.tables.unread import unread
from secure_sapefl.data.tables.values import by_label, examined, table_of
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind, Labels, Scale

CHANNELS: Final = (1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How data is to be read, beyond its name or path; most of it is for a file of one's own."""

    options: Mapping[str, object] = field(default_factory=dict)
    label: str | None = None
    group: str | None = None
    partition: str | None = None  # how it will be divided; None: as its groups suggest
    preparation: PreparationName | None = None  # None: as the table suggests
    schema: Path | None = None  # what the columns of a table are
    private: bool = False
    classes: tuple[str, ...] = ()  # a public list of those there are, whether or not each has a row
    labels: LabelKind | None = None  # what a task reads; None: what the file says, or else classes


def own_table(source: Path | Columns, reading: Reading) -> Table:
    """From a file, or from columns that are in memory already."""
    name = source.source if isinstance(source, Columns) else source.name
    chosen = checked_options(name, OPTIONS, reading.options)
    if isinstance(source, Path) and source.is_dir():
        require_fixed(name, reading.preparation)
        roles = Roles(label=reading.label or LABEL, site=reading.group)
        return own_folder(source, reading.schema, roles, private=reading.private)
    if isinstance(source, Path) and source.suffix == ".npz" and reading.schema is None:
        if reading.label is not None or reading.group is not None:
            raise BadInput(f"{name}: --label and --group name columns; an .npz has arrays `y` and `group`.")
        wish = _wish(reading, chosen, apart=reading.private)
        return _ranged(_table(read_npz(source), wish, reading), chosen)
    return _ranged(_by_schema(source, chosen, reading), chosen)


def _wish(reading: Reading, options: Mapping[str, Any], *, apart: bool) -> Wish:
    return Wish(preparation=reading.preparation, options=options, private=reading.private, apart=apart)


def _by_schema(source: Path | Columns, chosen: Mapping[str, Any], reading: Reading) -> Table:
    schema = None if reading.schema is None else load_table_schema(reading.schema)
    columns = source if isinstance(source, Columns) else read_columns(source, schema)
    if schema is None:
        schema = _without_schema(columns, reading)
    elif reading.label not in (None, schema.label) or reading.group not in (None, schema.site):
        raise BadInput(
            f"{reading.schema} says which column is the label and which the site; leave out --label, --group."
        )
    _require_labels(reading, schema)
    table = table_of(columns, schema)
    natural = table.group is not None if reading.partition is None else reading.partition == "natural"
    apart = schema.scaling == "site" and (reading.private or (reading.schema is not None and natural))
    found = () if reading.private else _findings(columns, table, schema)
    named = replace(table, source=f"{columns.source}, {len(columns):,} rows", findings=found)
    return prepared(named, schema.features, _wish(reading, chosen, apart=apart))


def _findings(columns: Columns, table: Table, schema: TableSchema) -> tuple[Finding, ...]:
    return (*findings(*examined(table, schema)), *unread(columns, schema), *_unnamed_site(columns, schema))


def _unnamed_site(columns: Columns, schema: TableSchema) -> tuple[Finding, ...]:
    """A column that is called as sites are, where nobody has named one: rows go to invented sites."""
    name = None if schema.site is not None else guessed_site(columns, (schema.label, schema.person))
    says = "may name the sites; rows are dealt to invented ones unless it is named with --group, or by a schema"
    return () if name is None else (Finding(kind="site", column=name, says=says),)


def _without_schema(columns: Columns, reading: Reading) -> TableSchema:
    if reading.label is None:
        raise BadInput(
            f"{columns.source}: which column is the label? Name it with --label; columns: {', '.join(columns.cells)}."
        )
    if not reading.private:
        return propose(columns, label=reading.label, site=reading.group, labels=reading.labels)
    return _all_numbers(columns, reading.label, reading)


def _all_numbers(columns: Columns, label: str, reading: Reading) -> TableSchema:
    """A schema that no record decides about; a file it does not fit is refused."""
    names = [name for name in columns.cells if name not in (*label_columns(columns, label), reading.group)]
    for name in names:
        bad = next((index for index, cell in enumerate(columns.cells[name]) if not _is_plain_number(cell)), None)
        if bad is not None:
            raise columns.bad(
                name,
                bad,
                "not a number. A private study must be told what its columns are without looking at records: write a "
                "schema (`secure-sapefl data schema`), correct it, and give it with --data-schema",
            )
    said = label_settings(columns, label, reading.labels)
    if "classes" in said:
        said["classes"] = reading.classes or said["classes"]
    values = {**said, "site": reading.group, "features": [{"name": name} for name in names], "scaling": "site"}
    return TableSchema.read(values, columns.source)


def _is_plain_number(cell: str) -> bool:
    try:
        return not is_missing(cell) and bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _require_labels(reading: Reading, schema: TableSchema) -> None:
    if reading.labels not in (None, schema.label_is.kind):
        raise BadInput(
            f"The schema says what {schema.label!r} is, and the task reads something else: classes are for "
            "classification, labels for multilabel, target for regression. Correct the schema, or --task."
        )


def _ranged(table: Table, chosen: Mapping[str, Any]) -> Table:
    """With the range of each label column that is a number, where the options say one."""
    if not chosen["target"]:
        return table
    if table.labels.kind != "number":
        raise BadInput(f"{table.source}: option target is the range of a label that is a number (--task regression).")
    said = str(chosen["target"]).split(",")
    numbers = [float(one) for one in said if _is_plain_number(one)]
    ranges = list(zip(numbers[::2], numbers[1::2], strict=False))
    wanted = len(table.class_names)
    if len(said) != 2 * wanted or len(ranges) != wanted or not all(low < high for low, high in ranges):
        of_all = "" if wanted == 1 else f", for each of {', '.join(table.class_names)}: LOW,HIGH,LOW,HIGH"
        raise BadInput(
            f"Option target is {chosen['target']!r}, expected LOW,HIGH: what the label may be, e.g. 0,100{of_all}."
        )
    if ((table.y < np.array(ranges)[:, 0]) | (table.y > np.array(ranges)[:, 1])).any():
        raise BadInput(
            f"{table.source}: a label lies outside of target={chosen['target']}. Correct the row or the range."
        )
    return replace(table, labels=Labels("number", Scale.from_ranges(*ranges)))


def _table(arrays: Arrays, wish: Wish, reading: Reading) -> Table:
    if one_of(arrays.name, wish.options, "layout", ("auto", "as-given")) == "auto":
        X, prepare = _features(arrays)
    else:
        X, prepare = _numbers(arrays), as_given
    y, class_names, labels = labels_of(arrays, len(X), reading.labels, reading.classes)
    group, group_names = _groups(arrays, len(X))
    split = arrays.integers("split", len(X), 2) if "split" in arrays else None
    table = Table(
        X=X,
        y=y,
        class_names=class_names,
        source=f"{arrays.name}, {len(X):,} rows",
        prepare=prepare,
        group=group,
        group_names=group_names,
        split=split,
        labels=labels,
    )
    if X.ndim != 2:
        require_fixed(arrays.name, reading.preparation)
        return table
    if not reading.private:
        table = replace(table, findings=findings(*by_label(_examined(arrays, table), table)))
    if wish.options["layout"] == "as-given":
        return table
    return prepared(table, [Numeric(name=name) for name in _columns(arrays, X.shape[1])], wish)


def _examined(arrays: Arrays, table: Table) -> Examined:
    names = _columns(arrays, table.X.shape[1])
    return Examined(
        X=table.X,
        names=names,
        levels=((),) * len(names),
        y=table.labels.strata(table.y),
        classes=table.class_names,
        label="y",
        group=table.group,
        group_names=table.group_names,
        site="group",
    )


def _numbers(arrays: Arrays) -> Array:
    X = arrays["X"]
    if X.dtype.kind not in "fiub":
        raise arrays.bad("X", f"holds {X.dtype} values, expected numbers")
    if X.ndim < 2 or 0 in X.shape:
        raise arrays.bad("X", f"has shape {X.shape}, expected rows x features, or images [n, h, w] or [n, h, w, c]")
    _check_finite(arrays, X)
    return X


def _features(arrays: Arrays) -> tuple[Array, Prepare]:
    """What a row holds; how images are prepared is decided with that."""
    X = _numbers(arrays)
    if X.ndim > 4:
        raise arrays.bad("X", f"has shape {X.shape}; rows of other shapes are read with --data-option layout=as-given")
    if X.ndim == 4 and X.shape[-1] not in CHANNELS:
        raise arrays.bad("X", f"has shape {X.shape}; images are [n, h, w, c] with 1 or 3 channels last")
    if X.ndim == 2:
        return X.astype(np.float64), as_given
    if X.dtype == np.uint8:
        return X, pixels
    return X[:, None] if X.ndim == 3 else np.moveaxis(X, -1, 1), as_given


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


def _groups(arrays: Arrays, rows: int) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if "group" not in arrays:
        return None, ()
    values = arrays.per_row("group", rows)
    if values.dtype.kind not in "iubU":
        raise arrays.bad("group", f"holds {values.dtype} values, expected integer or string site names")
    return codes(values)
