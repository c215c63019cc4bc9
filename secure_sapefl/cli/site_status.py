"""`secure-sapefl site status`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from secure_sapefl.cli.sheets import cell

Home = Annotated[Path, typer.Option(help="The site's folder.", envvar="SAPEFL_SITE")]


def status(
    home: Home = Path("site"),
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """How far each study is at this site, what it has cost, and whether anything is wrong.

    Examples:

    `secure-sapefl site status --home site`

    `secure-sapefl site status --home site --format json`
    """
    from secure_sapefl.site.status import all_statuses

    found = all_statuses(home)
    if format == "json":
        typer.echo(json.dumps(found))
        return
    table = Table("study", "running", "rounds", "answered", "epsilon", "refused letters", "device", "state")
    for one in found:
        table.add_row(*map(cell, _cells(one)))
    Console().print(table)


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    epsilon = "none" if one["epsilon"] is None else f"{one['epsilon']:.3g}"
    state = f"halted: {one['halted']}" if one["halted"] else "over" if one["over"] else "taking part"
    return (
        f"{one['study']} {one['digest'][:8]}",
        "yes" if one["running"] else "no",
        f"{one['absorbed']} of {one['rounds']}",
        str(one["answered"]),
        epsilon,
        str(one["refused_letters"]),
        one.get("device", "cpu"),  # 0.1.0 knew no other
        state,
    )
