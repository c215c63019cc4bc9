"""`secure-sapefl site status`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table

Home = Annotated[Path, typer.Option(help="The site's folder.", envvar="SAPEFL_SITE")]


def status(
    home: Home = Path("site"),
    output: Format = "table",
) -> None:
    """How far each study is at this site, what it has cost, and whether anything is wrong.

    Examples:

    `secure-sapefl site status --home site`

    `secure-sapefl site status --home site --format json`
    """
    from secure_sapefl.site.status import all_statuses

    found = all_statuses(home)
    if output == "json":
        typer.echo(json.dumps(found))
        return
    columns = ("study", "running", "rounds", "answered", "epsilon", "refused messages", "device", "state")
    print_table("", columns, map(_cells, found))


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
