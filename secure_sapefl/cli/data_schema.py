"""`secure-sapefl data schema`, `data split` and `site check-data`: what a table's columns are, and whether they fit."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.cli.study import StudyPath
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.data.tables.mismatches import Mismatch
    from secure_sapefl.data.tables.schema import Schema, TableSchema
    from secure_sapefl.labels import LabelKind

TableFile = Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv, .parquet, .xlsx or .npz file.")]
TaskName = Literal["classification", "multilabel", "regression"]
_KINDS: "Final[dict[TaskName | None, LabelKind]]" = {
    "classification": "class",
    "multilabel": "yes-no",
    "regression": "number",
}
HEADER: Final = """\
# Proposed by `secure-sapefl data schema` from the records of one file: a person has to read and correct it.
# Ranges (low, high) are what is possible anywhere, not what this file holds; widen them to what is public knowledge.
# Everybody who gets the study reads this file: no level and no range may tell of a single patient.
"""


def schema(
    file: TableFile,
    out: Annotated[Path, typer.Option(help="The schema file to write.")] = Path("schema.toml"),
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to predict; several: A,B.")] = None,
    task: Annotated[TaskName | None, typer.Option(help="What for; by default classification.")] = None,
    site: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that names a row's site.")] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names a person; rows of one stay together.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Propose what the columns of a table are: kinds, ranges, categories and roles, for a person to edit.

    The result is taken by `simulate --data-schema`, `study new --schema` and all commands that read tables.

    Example: `secure-sapefl data schema patients.csv --label outcome --site hospital --out schema.toml`
    """
    from secure_sapefl.data.tables.findings import findings
    from secure_sapefl.data.tables.propose import guessed_person, guessed_site, propose, with_ranges
    from secure_sapefl.data.tables.readers import read_columns
    from secure_sapefl.data.tables.schema import schema_text
    from secure_sapefl.data.tables.unread import unread
    from secure_sapefl.data.tables.values import examined, table_of
    from secure_sapefl.storage.files import write_whole, writing

    if file.is_dir():
        _folder_schema(file, out, label, site, person, overwrite)
        return
    columns = read_columns(file)
    label = label or ("y" if file.suffix == ".npz" and "y" in columns.cells else None)
    if label is None:
        raise BadInput(
            f"{file.name}: which column is the label? Name it with --label; it has: {', '.join(columns.cells)}."
        )
    if out.exists() and not overwrite:
        raise BadInput(f"{out} exists, and a person may have corrected it. Choose another --out, or --overwrite.")
    site = site or guessed_site(columns, (label, person))
    person = person or guessed_person(columns, (label, site))
    found = with_ranges(propose(columns, label=label, site=site, person=person, labels=_KINDS.get(task)), columns)
    noticed = (*findings(*examined(table_of(columns, found), found)), *unread(columns, found))
    with writing(out, "Choose another --out."):
        write_whole(out, (HEADER + schema_text(found)).encode())
    typer.echo(f"{file.name}: {columns.found}, {len(columns):,} rows")
    _show(found)
    for one in noticed:
        typer.echo(one.sentence)
    typer.echo(f"Schema: {out}. Read it and correct it; it was read off records.")


def _folder_schema(
    folder: Path, out: Path, label: str | None, site: str | None, person: str | None, overwrite: bool
) -> None:
    from secure_sapefl.data.folders.labelled import LABEL, Roles, label_table, proposed
    from secure_sapefl.data.tables.schema import schema_text
    from secure_sapefl.storage.files import write_whole, writing

    columns = label_table(folder)
    if out.exists() and not overwrite:
        raise BadInput(f"{out} exists, and a person may have corrected it. Choose another --out, or --overwrite.")
    found = proposed(folder, columns, Roles(label=label or LABEL, site=site, person=person))
    with writing(out, "Choose another --out."):
        write_whole(out, (HEADER + schema_text(found)).encode())
    shape = f"{found.height} x {found.width}, {found.channels} channels"
    typer.echo(f"{folder.name}: {len(columns):,} images of {shape}; classes {', '.join(found.classes)}")
    typer.echo(f"Schema: {out}. Read it and correct it; it was read off records.")


def split(
    file: TableFile,
    schema: Annotated[Path, typer.Option(help="The schema, which says which column names the site.")],
    out: Annotated[Path, typer.Option(help="The folder to write one file per site into.")],
) -> None:
    """Divide a table of several sites into a CSV file for each, to rehearse a deployed study with.

    Example: `secure-sapefl data split patients.csv --schema schema.toml --out sites`
    """
    from secure_sapefl.data.tables.parts import write_parts
    from secure_sapefl.data.tables.readers import read_columns
    from secure_sapefl.data.tables.schema import load_table_schema

    said = load_table_schema(schema)
    if said.site is None:
        raise BadInput(f'{schema} names no column for the site of a row. Write: site = "COLUMN".')
    for path in write_parts(read_columns(file, said), said.site, out):
        typer.echo(f"{path}")


def check_data(
    study: StudyPath,
    data: Annotated[Path, typer.Option(help="The site's records.")],
    output: Format = "table",
) -> None:
    """Hold a file against a study's schema before consent: every mismatch, not only the first. Nothing leaves.

    Exit code 0 if the file can be used, 2 if it cannot. STUDY may be a study file or a schema.toml.

    Example: `secure-sapefl site check-data study.toml --data patients.csv`
    """
    from secure_sapefl.data.tables.schema import load_schema

    read, rows, found = _held_against(load_schema(study), data)
    if output == "json":
        listed = [{"column": one.column, "says": one.says, "blocks": one.blocks} for one in found]
        typer.echo(json.dumps({"file": data.name, "rows": rows, "read": read, "mismatches": listed}))
    else:
        _say(f"{data.name}: {read}, {rows:,} records", found)
    if any(one.blocks for one in found):
        raise typer.Exit(2)


def _held_against(said: "Schema", data: Path) -> "tuple[str, int, tuple[Mismatch, ...]]":
    """How the file was read, how many records it has, and what does not fit."""
    from secure_sapefl.data.folders.labelled import label_table, problems
    from secure_sapefl.data.tables.mismatches import Mismatch, mismatches
    from secure_sapefl.data.tables.readers import read_columns
    from secure_sapefl.data.tables.schema import TableSchema
    from secure_sapefl.site.data import load_table

    if isinstance(said, TableSchema):
        columns = read_columns(data, said)
        return columns.found, len(columns), mismatches(columns, said)
    if data.is_dir():
        wrong = tuple(Mismatch(column=column, says=says.removesuffix(".")) for column, says in problems(data, said))
        return "images in a folder", len(label_table(data)), wrong
    return "images in an .npz", len(load_table(data, said)), ()  # refuses what does not fit


def _say(title: str, found: "tuple[Mismatch, ...]") -> None:
    typer.echo(title)
    for one in found:
        typer.echo(f"{'does not fit' if one.blocks else 'look at it'}: {one.sentence}")
    if not found:
        typer.echo("Everything fits the study's schema.")
    elif any(one.blocks for one in found):
        typer.echo("Correct the file, or ask whoever wrote the schema for one that allows this.")


def _show(schema: "TableSchema") -> None:
    roles = {"site": schema.site, "person": schema.person}
    rows: list[tuple[str, ...]] = [
        (one.name, one.kind, _said(one), "may be missing" if one.may_be_missing else "") for one in schema.features
    ]
    rows += [(name, "label", _label(schema), "") for name in schema.label_columns]
    rows += [(name, role, "", "") for role, name in roles.items() if name is not None]
    rows += [(name, "identifier", "not read", "") for name in schema.identifiers or ()]
    rows += [(name, "ignored", "not read", "") for name in schema.ignored or ()]
    print_table("", ("column", "is", "values", ""), rows)


def _label(schema: "TableSchema") -> str:
    if schema.classes:
        return ", ".join(schema.classes)
    return "no, yes" if schema.target is None else f"a number, {schema.target.low} to {schema.target.high}"


def _said(feature: object) -> str:
    levels, low, high = (getattr(feature, name, None) for name in ("levels", "low", "high"))
    written = getattr(feature, "format", "")
    return ", ".join(levels) if levels else f"{low} to {high}" + (f", written {written}" if written else "")
