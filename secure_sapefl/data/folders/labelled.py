"""A folder of images and its label table: `labels.csv` (or .tsv, .parquet, .xlsx) with a column ``file``.

Which columns hold the class, the site and the person says the schema, or the command; without either the class is in
``label``. Files are named relative to the folder and lie inside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from secure_sapefl.data.folders.pictures import SUFFIXES, Bytes, Size, read_picture, size_of
from secure_sapefl.data.prepare import pixels
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.examined import Examined
from secure_sapefl.data.tables.findings import picture_findings
from secure_sapefl.data.tables.propose import classes_of
from secure_sapefl.data.tables.readers import EXCEL, PARQUET, TEXT, read_columns
from secure_sapefl.data.tables.schema import ImageSchema, load_schema
from secure_sapefl.data.tables.values import codes_of, codes_of_classes, numbers_of
from secure_sapefl.errors import BadInput

FILE: Final = "file"
LABEL: Final = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column of the label table is what."""

    label: str = LABEL
    site: str | None = None
    person: str | None = None

    @classmethod
    def from_schema(cls, schema: ImageSchema) -> "Roles":
        return cls(label=schema.label or LABEL, site=schema.site, person=schema.person)


def label_table(folder: Path) -> Columns:
    found = sorted(path for path in folder.glob("labels.*") if path.suffix.lower() in (*TEXT, *PARQUET, *EXCEL))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise BadInput(f"{folder.name}: a folder of images has one label table, labels.csv; found: {names}.")
    columns = read_columns(found[0])
    columns.named(FILE)
    return columns


def proposed(folder: Path, columns: Columns, roles: Roles) -> ImageSchema:
    """The size of the first image, and the classes of the table: read off records, for a person to correct."""
    size = size_of(next(iter(_paths(folder, columns))))
    return ImageSchema.read(
        {
            "height": size.height,
            "width": size.width,
            "channels": size.channels,
            "classes": classes_of(columns, roles.label),
            "label": roles.label,
            "site": roles.site,
            "person": roles.person,
        },
        folder.name,
    )


def own_folder(folder: Path, path: Path | None, roles: Roles, *, private: bool) -> Table:
    """By the schema in ``path``, or else by one proposed from the folder; with what is wrong with it."""
    schema = proposed(folder, label_table(folder), roles) if path is None else load_schema(path)
    if not isinstance(schema, ImageSchema):
        raise BadInput(f"{path} describes a table, and {folder.name} is a folder of images.")
    table = folder_table(folder, schema)
    return table if private else replace(table, findings=picture_findings(_examined(table, Roles.from_schema(schema))))


def _examined(table: Table, roles: Roles) -> Examined:
    which: dict[bytes, int] = {}
    codes = [which.setdefault(image.tobytes(), len(which)) for image in table.X]
    return Examined(
        X=np.array(codes, np.float64)[:, None],
        names=(FILE,),
        levels=((),),
        y=table.y,
        classes=table.class_names,
        label=roles.label,
        group=table.group,
        group_names=table.group_names,
        site=roles.site or "site",
    )


def folder_table(folder: Path, schema: ImageSchema) -> Table:
    """All images of the label table, in its order."""
    columns, roles = label_table(folder), Roles.from_schema(schema)
    images = np.stack([read_picture(path, _size(schema)) for path in _paths(folder, columns)])
    group, names = codes_of(columns, roles.site)
    persons = numbers_of(columns, roles.person)
    return Table(
        X=images,
        y=codes_of_classes(columns, roles.label, schema.classes),
        class_names=schema.classes,
        source=f"{folder.name}, {len(images):,} images",
        prepare=pixels,
        group=group,
        group_names=names,
        segment=persons,
        persons=persons is not None,
    )


def new_pictures(folder: Path, schema: ImageSchema) -> tuple[Bytes, Sequence[str], tuple[tuple[str, str], ...]]:
    """Every image in a folder, labelled or not: those that can be read, their names, and what is wrong with others."""
    images, names, bad = [], [], []
    for path in sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES):
        try:
            images.append(read_picture(path, _size(schema)))
            names.append(path.name)
        except BadInput as error:
            bad.append((path.name, str(error).removesuffix(".")))  # whoever says it ends the sentence
    if not images:
        raise BadInput(f"{folder.name} holds no image that can be read: {', '.join(SUFFIXES)}.")
    return np.stack(images), names, tuple(bad)


def problems(folder: Path, schema: ImageSchema) -> Iterator[tuple[str, str]]:
    """Everything that keeps a folder out of a study: a column or a file, and why."""
    columns, roles = label_table(folder), Roles.from_schema(schema)
    for name in (roles.label, *(one for one in (roles.person,) if one is not None)):
        if name not in columns.cells:
            yield name, "the label table has no such column"
            return
    unknown = sorted({one for one in columns.cells[roles.label] if one not in schema.classes})
    if unknown:
        yield roles.label, f"{len(unknown)} values are no class of the study: {', '.join(schema.classes)}"
    for index, name in enumerate(columns.cells[FILE]):
        try:
            read_picture(_path(folder, columns, index, name), _size(schema))
        except BadInput as error:
            yield FILE, str(error)


def _size(schema: ImageSchema) -> Size:
    return Size(schema.height, schema.width, schema.channels)


def _paths(folder: Path, columns: Columns) -> Iterator[Path]:
    for index, name in enumerate(columns.cells[FILE]):
        yield _path(folder, columns, index, name)


def _path(folder: Path, columns: Columns, index: int, name: str) -> Path:
    """A table must not lead out of its folder."""
    path = (folder / name).resolve()
    if is_missing(name) or folder.resolve() not in path.parents:
        raise columns.bad(FILE, index, "not a file inside the folder")
    if not path.is_file():
        raise columns.bad(FILE, index, "there is no such file in the folder")
    return path
