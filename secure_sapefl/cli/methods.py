"""`secure-sapefl methods`: what can be compared."""

import json
from typing import TYPE_CHECKING

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table

if TYPE_CHECKING:
    from secure_sapefl.algorithms.base import Algorithm


def methods(
    output: Format = "table",
) -> None:
    """List the methods, those of installed packages included: what their server has to do, options with defaults.

    Examples:

    `secure-sapefl methods`

    `secure-sapefl methods --format json`
    """
    from secure_sapefl.algorithms.own import algorithm
    from secure_sapefl.algorithms.registry import ALGORITHMS
    from secure_sapefl.plugins import offered

    installed = {name: algorithm(name) for name in offered("method") if name not in ALGORITHMS}
    every = {**ALGORITHMS, **installed}
    if output == "json":
        typer.echo(json.dumps([{**_described(one), "name": name} for name, one in every.items()]))
        return
    columns = ("name", "method", "the server", "options", "source")
    print_table("", columns, [(name, *_cells(one)) for name, one in every.items()], lines=True)


def _cells(algorithm: "Algorithm") -> tuple[object, ...]:
    options = [f"{key} = {value}" for key, value in algorithm.options().model_dump(mode="json").items()]
    return algorithm.title, algorithm.homomorphic.value, options, algorithm.source


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
