"""Options that several commands share, and small helpers for reading them."""

import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from secure_sapefl.errors import BadInput

in_running = partial(typer.Option, rich_help_panel="Running")  # the panel of `--help` that an option stands in
in_data = partial(typer.Option, rich_help_panel="Data")

Format = Annotated[
    Literal["table", "json"], in_running("--format", help="A table for people, or JSON and nothing else.")
]
Quiet = Annotated[bool, in_running("--quiet", "-q", help="Show no progress.")]
Home = Annotated[Path, typer.Option(help="The site's folder.", envvar="SAPEFL_SITE")]


def given(**options: Any) -> dict[str, Any]:
    """Only the options somebody typed, so that a configuration file keeps the rest."""
    return {name: value for name, value in options.items() if value is not None and value != {}}


def key_values(pairs: Sequence[str] | None) -> dict[str, Any]:
    """``influence=0.25`` and its like; the value is read as TOML, or as text where it is not."""
    values: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise BadInput(f"{pair!r} is not KEY=VALUE, for instance influence=0.25.")
        try:
            values[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[key] = text
    return values
