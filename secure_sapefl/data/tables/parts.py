"""One table of several sites as a file for each: what a rehearsal hands to the sites of a deployed study."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.errors import BadInput
from secure_sapefl.storage.files import write_whole, writing


def write_parts(columns: Columns, site: str, folder: Path) -> tuple[Path, ...]:
    """`FOLDER/SITE.csv` for each site, with the columns of the whole."""
    parts = tuple(parts_of(columns, site))
    paths = tuple(folder / f"{file_name(name)}.csv" for name, _ in parts)
    if len(set(paths)) < len(paths):
        raise BadInput(f"{columns.source}: two sites of column {site!r} would share a file name. Rename one of them.")
    with writing(folder, "Choose another --out."):
        folder.mkdir(parents=True, exist_ok=True)
        for path, (_, part) in zip(paths, parts, strict=True):
            write_whole(path, csv_text(part).encode())
    return paths


def parts_of(columns: Columns, site: str) -> Iterator[tuple[str, Columns]]:
    """Each site's records in the order of the file; sites in the order of their names."""
    of_row = columns.named(site)
    if any(map(is_missing, of_row)):
        raise BadInput(f"{columns.source}: column {site!r} does not name the site of every record.")
    for name in sorted(set(of_row)):
        kept = [index for index, one in enumerate(of_row) if one == name]
        cells = {column: [values[index] for index in kept] for column, values in columns.cells.items()}
        yield name, Columns(source=f"{columns.source} of {name}", unit=columns.unit, cells=dict(cells))


def csv_text(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns.cells)
    writer.writerows(zip(*columns.cells.values(), strict=True))
    return text.getvalue()


def file_name(site: str) -> str:
    """Letters of any script and digits as they are."""
    return re.sub(r"[^\w.-]+", "_", site).strip("._") or "site"
