"""The labels of an `.npz`: classes, a number a row, or a column a label."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Array, Arrays
from secure_sapefl.labels import LabelKind, Labels


def labels_of(
    arrays: Arrays, rows: int, wanted: LabelKind | None, public: Sequence[str] = ()
) -> tuple[Array, tuple[str, ...], Labels]:
    """Labels, what they are called, and what they are. ``wanted`` is what a task reads; by itself, a ``y`` of several
    columns is yes or no, and any other has classes. ``public`` lists those that there are, whether or not each has a
    row."""
    shape = arrays["y"].shape
    flat = len(shape) == 1
    kind = wanted or ("yes-no" if len(shape) == 2 and shape[1] > 1 else "class")
    if kind == "class":
        y, names = _classes(arrays, rows)
        if not public:
            _check_classes(arrays, y, names)
        return y, names, Labels()
    values = arrays["y"][:, None] if flat else arrays["y"]
    if values.ndim != 2 or len(values) != rows or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise arrays.bad("y", f"is {values.dtype} of shape {values.shape}, expected finite numbers, {rows} x labels")
    if kind == "yes-no" and not np.isin(values, (0, 1)).all():
        raise arrays.bad("y", "holds other values than 0 and 1; for numbers choose --task regression")
    return values.astype(np.float64), _label_names(arrays, values.shape[1]), Labels(kind)


def _label_names(arrays: Arrays, count: int) -> tuple[str, ...]:
    names = arrays.strings("label_names") if "label_names" in arrays else tuple(f"y{k}" for k in range(count))
    if len(names) != count:
        raise arrays.bad("label_names", f"has {len(names)} names for {count} columns of `y`")
    return names if count > 1 or "label_names" in arrays else ("y",)


def _classes(arrays: Arrays, rows: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    if "class_names" in arrays:
        names = arrays.strings("class_names")
        y = arrays.integers("y", rows, len(names))
    else:
        values = arrays.per_row("y", rows)
        if values.dtype.kind not in "iubU":
            raise arrays.bad("y", f"holds {values.dtype} values, expected integer or string labels")
        y, names = codes(values)
    return y, names


def _check_classes(arrays: Arrays, y: NDArray[np.int64], names: tuple[str, ...]) -> None:
    empty = [name for name, count in zip(names, np.bincount(y, minlength=len(names)), strict=True) if count == 0]
    if empty:
        raise arrays.bad("y", f"has no row of class {empty[0]!r}. Leave the class out of `class_names` or add rows")
    if len(names) < 2:
        raise arrays.bad("y", "has a single class; a classifier needs at least two")


def codes(values: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names.tolist())
