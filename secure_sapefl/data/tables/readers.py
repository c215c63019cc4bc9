"""Files and frames a table may come in. What is no text file is read by the library of its format, if it is there."""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.tables.columns import Columns, columns_of, texts
from secure_sapefl.data.tables.delimited import read_delimited
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.errors import BadInput

TEXT: Final = (".csv", ".tsv", ".txt")
PARQUET: Final = (".parquet", ".pq")
EXCEL: Final = (".xlsx", ".xlsm")
READABLE: Final = (*TEXT, *PARQUET, *EXCEL, ".npz")


def read_columns(path: Path, schema: TableSchema | None = None) -> Columns:
    """``schema`` names the columns of an .npz that does not name them itself."""
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return read_delimited(path)
    if suffix not in READABLE:
        raise BadInput(
            f"{path.name}: a table is a .csv, .tsv, .parquet, .xlsx or .npz file. Convert it to one of them."
        )
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    if suffix in PARQUET:
        return _parquet(path)
    return _excel(path) if suffix in EXCEL else archive_columns(read_npz(path), schema)


def frame_columns(frame: Any, name: str = "table") -> Columns:
    """A pandas frame, or anything else with named columns that can be listed."""
    named = texts(frame.columns)
    cells = {text: texts(_listed(frame[column])) for text, column in zip(named, frame.columns, strict=True)}
    if len(cells) != len(named):
        raise BadInput(f"{name}: two columns of the frame have the same name. Rename one of them.")
    if not named or not len(frame):
        raise BadInput(f"{name}: the frame has no rows.")
    return Columns(source=name, unit="row", cells=dict(cells), found="a frame")


def archive_columns(arrays: Arrays, schema: TableSchema | None) -> Columns:
    """X with a column a feature, in the schema's order unless `feature_names` says otherwise; y, group and person."""
    X = arrays["X"]
    if "feature_names" in arrays:
        names: list[str] = list(arrays.strings("feature_names"))
    else:
        names = [str(k) for k in range(X.shape[1])] if schema is None else [f.name for f in schema.features]
    if X.ndim != 2 or X.dtype.kind not in "fiubU" or X.shape[1] != len(names) or not len(X):
        raise arrays.bad("X", f"is {X.dtype} of shape {X.shape}, expected rows x {len(names)} features")
    cells: dict[str, Any] = {name: texts(X[:, place].tolist()) for place, name in enumerate(names)}
    for array, column in _roles(schema).items():
        if array in arrays:
            cells[column] = texts(arrays.per_row(array, len(X)).tolist())
    if "y" in arrays:
        cells[schema.label if schema else "y"] = _class_names(arrays, schema, len(X))
    return Columns(source=arrays.name, unit="row", cells=cells, found="an archive")


def _roles(schema: TableSchema | None) -> dict[str, str]:
    """Arrays of an archive that are no feature, and what the schema calls them."""
    if schema is None:
        return {"group": "group", "person": "person"}
    return {array: column for array, column in (("group", schema.site), ("person", schema.person)) if column}


def _class_names(arrays: Arrays, schema: TableSchema | None, rows: int) -> list[str]:
    """y as it is where it holds texts; where it holds integers, they count the file's class names, or else ours."""
    y = arrays.per_row("y", rows)
    if y.dtype.kind == "U" or (schema is None and "class_names" not in arrays):
        return texts(y.tolist())
    names = arrays.strings("class_names") if schema is None or "class_names" in arrays else schema.classes
    return [names[k] for k in arrays.integers("y", rows, len(names))]


def _parquet(path: Path) -> Columns:
    parquet = _library("pyarrow.parquet", "pyarrow", path)
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are kinds of these
        raise BadInput(f"{path.name} is not a readable Parquet file ({error}). Write it again.") from error
    columns = [texts(table.column(place).to_pylist()) for place in range(table.num_columns)]
    rows = list(zip(*columns, strict=True))
    return columns_of(path.name, "row", texts(table.column_names), rows, "Parquet")


def _excel(path: Path) -> Columns:
    """The first sheet; formulas as the values they were last shown with."""
    workbook = _library("openpyxl", "openpyxl", path)
    try:
        book = workbook.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # a damaged workbook fails in any of the libraries below it
        raise BadInput(f"{path.name} is not a readable Excel file ({error}). Save it again as .xlsx.") from error
    try:
        sheet = book.worksheets[0]
        lines = [texts(row) for row in sheet.iter_rows(values_only=True)]
        name = sheet.title
    finally:
        book.close()
    lines = [line for line in lines if any(line)]
    if not lines:
        raise BadInput(f"{path.name}: its first sheet is empty.")
    width = max(place for place, cell in enumerate(lines[0]) if cell) + 1
    if any(any(line[width:]) for line in lines):
        raise BadInput(f"{path.name}: a row of its first sheet has cells beyond the header line. Name those columns.")
    return columns_of(
        path.name, "line", lines[0][:width], [line[:width] for line in lines[1:]], f"Excel, sheet {name!r}"
    )


def _listed(column: Any) -> Any:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _library(module: str, package: str, path: Path) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise BadInput(
            f"{path.name}: reading {path.suffix} files needs {package}. Install it (pip install {package}), or save "
            "the table as CSV."
        ) from None
