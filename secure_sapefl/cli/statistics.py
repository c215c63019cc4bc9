"""`secure-sapefl statistics`: Table 1 over all sites, from encrypted counts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_wide_table
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.engine.counting.table_one import Outcome
    from secure_sapefl.privacy.events import Budget


def statistics(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table of several sites.")],
    data_schema: Annotated[Path, typer.Option(help="Its schema, with public ranges (`data schema`), or a study file.")],
    smallest_cell: Annotated[int, typer.Option(min=1, help="Counts below this are not shown.")] = 5,
    min_cohort: Annotated[int, typer.Option(min=2, help="Fewest sites in a sum.")] = 2,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget ε of each site; with --delta.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ, e.g. 1e-5.")] = None,
    ledgers: Annotated[Path | None, typer.Option(help="Folder of the sites' ledgers; what they spent counts.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated noise.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for table-1.csv and table-1.json.")] = None,
    output: Format = "table",
) -> None:
    """Describe the patients of all sites together: n, missing, mean, deviation, quartiles, levels, by outcome.

    Every site counts on public ranges and encrypts; the server adds what it cannot read; sites open totals alone.

    Example: `secure-sapefl statistics patients.csv --data-schema schema.toml --out table-1`
    """
    from secure_sapefl.data.tables.readers import read_columns
    from secure_sapefl.data.tables.schema import load_table_schema
    from secure_sapefl.data.tables.values import table_of
    from secure_sapefl.engine.counting.table_one import Asked, simulated_table_one

    budget = _budget(epsilon, delta)
    schema = load_table_schema(data_schema)
    table = table_of(read_columns(file, schema), schema)
    asked = Asked(smallest=smallest_cell, least=min_cohort, budget=budget, ledgers=ledgers, seed=seed)
    found = simulated_table_one(table, schema, asked)
    document = found.table.to_json() | {"sites": list(found.sites), "notes": list(notes(found, budget is not None))}
    if out is not None:
        _write(out, found.table.to_csv(), json.dumps(document, indent=1, ensure_ascii=False))
    if output == "json":
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    print_wide_table(f"{file.name}: Table 1", ("column", "", *found.table.groups), found.table.shown())
    for line in notes(found, budget is not None):
        typer.echo(line)


def notes(found: "Outcome", private: bool) -> tuple[str, ...]:
    """What whoever reads the table, and whoever decides about taking part, has to know."""
    from secure_sapefl.study.counting_words import left_out, noise_words

    count = len(found.sites)
    return (
        f"Sums over {count} sites, encrypted ({found.bytes_up / 1000:,.0f} kB a site); the server held no key.",
        left_out(found.table.smallest),
        *(("With two sites, the total less one's own counts is the other's.",) if count == 2 else ()),
        *((noise_words(found.noise, count),) if found.noise else ()),
        *(() if private else ("No noise was added: an exact total can tell of a single patient.",)),
    )


def _budget(epsilon: float | None, delta: float | None) -> "Budget | None":
    from secure_sapefl.privacy.events import Budget

    if (epsilon is None) != (delta is None):
        raise BadInput("--epsilon and --delta are given together, for instance 1 and 1e-5.")
    return None if epsilon is None or delta is None else Budget(epsilon=epsilon, delta=delta)


def _write(folder: Path, table: str, document: str) -> None:
    from secure_sapefl.storage.files import write_whole, writing

    with writing(folder, "Choose another --out."):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "table-1.csv", table.encode())
        write_whole(folder / "table-1.json", document.encode())
