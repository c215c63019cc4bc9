"""Bring your own data: an `.npz` with X, y and optional group, split, class_names; or a CSV with a header.

Tables (X of two dimensions) are standardised. The option ``standardise`` says from which rows: "site", from each
site's own training rows; "all", from those of all sites together; "none" leaves them as they are; "auto" is "site"
for natural groups and "all" for made-up sites. Under label skew a made-up site's mean is its label, and taking it
away takes the label's trace with it; real sites differ in instruments too, and have nobody to ask for a common scale.
``ranges = FILE.toml`` scales by public ranges (ranges.py), which learns nothing from anybody's rows.

Images are [n, h, w] or [n, h, w, c] with 1 or 3 channels: bytes are scaled to [-1, 1], floats are used as they are.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Array, Arrays, read_npz
from secure_sapefl.data.csv_file import read_csv
from secure_sapefl.data.prepare import LearnedScale, Prepare, as_given, pixels, standardise
from secure_sapefl.data.ranges import public_scale
from secure_sapefl.data.spec import Option, checked_options, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput

OPTIONS: Final[Mapping[str, Option]] = {"standardise": "auto", "ranges": ""}
CHANNELS: Final = (1, 3)
Learn = Callable[[Array], Prepare]
Scaling = Callable[[tuple[str, ...], bool], tuple[Prepare, Learn | None]]
"""From the columns of a table, and whether its sites are natural groups."""


def own_table(
    path: Path,
    options: Mapping[str, object],
    label: str | None,
    group: str | None,
    partition: str | None = None,
    *,
    classes_known: bool = False,
) -> Table:
    """``classes_known``: a public list says which classes there are, whether or not the file has a row of each."""
    chosen = checked_options(path.name, OPTIONS, options)
    scaling = _scaling(path, chosen, given=options)
    return _table(_arrays(path, label, group), scaling, partition, classes_known)


def _arrays(path: Path, label: str | None, group: str | None) -> Arrays:
    if path.suffix == ".csv":
        return read_csv(path, label, group)
    if path.suffix != ".npz":
        raise BadInput(f"{path.name}: data files are .npz or .csv. Convert it to one of them.")
    if label is not None or group is not None:
        raise BadInput(f"{path.name}: --label and --group name CSV columns; an .npz has arrays `y` and `group`.")
    return read_npz(path)


def _scaling(path: Path, chosen: Mapping[str, Any], given: Mapping[str, object]) -> Scaling:
    if chosen["ranges"]:
        if "standardise" in given:
            raise BadInput(f"{path.name}: `ranges` is a way to standardise; leave out `standardise`.")
        return lambda columns, _: (public_scale(Path(chosen["ranges"]), columns), None)
    where = one_of(path.name, chosen, "standardise", ("auto", "site", "all", "none"))
    if where == "none":
        return lambda *_: (as_given, None)
    return lambda _, natural: (standardise, LearnedScale.from_rows if _together(where, natural=natural) else None)


def _together(where: str, *, natural: bool) -> bool:
    return where == "all" or (where == "auto" and not natural)


def _table(arrays: Arrays, scaling: Scaling, partition: str | None, classes_known: bool) -> Table:
    natural = "group" in arrays if partition is None else partition == "natural"
    X, prepare, learn = _features(arrays, scaling, natural=natural)
    y, class_names = _classes(arrays, len(X))
    if not classes_known:
        _check_classes(arrays, y, class_names)
    group, group_names = _groups(arrays, len(X))
    split = arrays.integers("split", len(X), 2) if "split" in arrays else None
    return Table(
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
