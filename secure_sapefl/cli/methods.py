"""`secure-sapefl methods`: what can be compared."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from secure_sapefl.algorithms.base import Algorithm


def methods(
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """List the methods, what their server has to do, and their options with defaults."""
    from rich.console import Console
    from rich.table import Column, Table

    from secure_sapefl.algorithms.registry import ALGORITHMS

    if output == "json":
        typer.echo(json.dumps([_described(algorithm) for algorithm in ALGORITHMS.values()]))
        return
    table = Table("name", "method", "the server", Column("options", overflow="fold"), "source", show_lines=True)
    for algorithm in ALGORITHMS.values():
        options = algorithm.options().model_dump(mode="json")
        lines = "\n".join(f"{key} = {value}" for key, value in options.items())
        table.add_row(algorithm.name, algorithm.title, algorithm.homomorphic.value, lines, algorithm.source)
    Console().print(table)


def _described(algorithm: "Algorithm") -> dict[str, object]:
    from secure_sapefl.algorithms.releases import NotPrivate

    return {
        "name": algorithm.name,
        "title": algorithm.title,
        "server": algorithm.homomorphic.value,
        "private": not isinstance(algorithm.releases, NotPrivate),
        "options": algorithm.options().model_dump(mode="json"),
        "source": algorithm.source,
    }
