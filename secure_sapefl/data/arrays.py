"""Reading `.npz` archives that may be damaged, incomplete or hostile: named arrays, checked, never unpickled."""

import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput

Array = NDArray[Any]

SINGLE_ARRAY: Final = b"\x93NUMPY"  # how an .npy file begins


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of one file; every complaint names the file and the array."""

    name: str
    values: Mapping[str, Array]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> Array:
        if name not in self.values:
            present = ", ".join(sorted(self.values)) or "none"
            raise self.bad(name, f"is missing (the file has: {present}). Save it with numpy.savez(file, {name}=...)")
        return self.values[name]

    def bad(self, name: str, what: str) -> BadInput:
        return BadInput(f"{self.name}: array {name!r} {what}.")

    def per_row(self, name: str, rows: int) -> Array:
        """A one-dimensional array with a value for every row."""
        values = self[name]
        if values.shape != (rows,):
            raise self.bad(name, f"has shape {values.shape}, expected one value for each of {rows:,} rows: ({rows},)")
        return values

    def integers(self, name: str, rows: int, below: int) -> NDArray[np.int64]:
        """Per-row integers in 0..below-1."""
        values = self.per_row(name, rows)
        if values.dtype.kind not in "iub":
            raise self.bad(name, f"holds {values.dtype} values, expected integers 0..{below - 1}")
        if rows and (values.min() < 0 or values.max() >= below):
            raise self.bad(name, f"runs from {values.min()} to {values.max()}, expected 0..{below - 1}")
        return values.astype(np.int64)

    def strings(self, name: str) -> tuple[str, ...]:
        values = self[name]
        if values.ndim != 1 or values.dtype.kind != "U":
            raise self.bad(name, "must be a one-dimensional array of strings")
        return tuple(values.tolist())

    def labels(self, rows: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """``y`` as indices into ``class_names``, the layout of every registered dataset."""
        names = self.strings("class_names")
        return self.integers("y", rows, len(names)), names


def read_npz(path: Path, only: Collection[str] | None = None) -> Arrays:
    try:
        with path.open("rb") as file:
            if file.read(len(SINGLE_ARRAY)) == SINGLE_ARRAY:
                raise BadInput(f"{path.name} is a single array. Write an archive: numpy.savez(file, X=..., y=...).")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                wanted = [name for name in archive.files if only is None or name in only]
                return Arrays(path.name, {name: _member(path, archive, name) for name in wanted})
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise BadInput(f"{path.name} is not a readable .npz archive ({error}). Write or download it again.") from error
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read ({error.strerror or error}).") from error


def _member(path: Path, archive: Mapping[str, Array], name: str) -> Array:
    try:
        return archive[name]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        if "allow_pickle" in str(error):
            what = "holds Python objects, which could run code when read. Save numbers or strings instead"
        else:
            what = f"is damaged ({error}). Write or download the file again"
        raise BadInput(f"{path.name}: array {name!r} {what}.") from error
