"""`secure-sapefl site table`: the Table 1 of a study, as this site opened it."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from secure_sapefl.cli.options import Home
from secure_sapefl.cli.sheets import print_wide_table
from secure_sapefl.cli.study import StudyPath
from secure_sapefl.errors import BadInput


def table(
    study: StudyPath,
    home: Home = Path("site"),
    output: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="How to print it.")] = "table",
) -> None:
    """Show the Table 1 of a study of kind statistics: over all sites, small cells left out. Nothing leaves.

    Examples:

    `secure-sapefl site table study.toml`

    `secure-sapefl site table study.toml --home hospital-a --format csv > table-1.csv`
    """
    from secure_sapefl.site.counting.kept import table_at
    from secure_sapefl.site.counting.table_files import document
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.study.counting import CountingTerms
    from secure_sapefl.study.counting_words import table_notes
    from secure_sapefl.study.file import read_study

    file = read_study(study)
    if file.kind != "statistics":
        raise BadInput(f"Study {file.name!r} trains a model; a Table 1 comes of a study of kind statistics.")
    found, terms = table_at(SiteHome(home), file), CountingTerms.of_table_one(file)
    if found is None:
        raise BadInput(f"Study {file.name!r} has no table here yet: it is there once enough sites have counted.")
    if output == "json":
        typer.echo(json.dumps(document(*found, terms), ensure_ascii=False))
    elif output == "csv":
        typer.echo(found[0].to_csv(), nl=False)
    else:
        print_wide_table(f"Study {file.name}: Table 1", ("column", "", *found[0].groups), found[0].shown())
        for line in table_notes(terms, found[1]):
            typer.echo(line)
