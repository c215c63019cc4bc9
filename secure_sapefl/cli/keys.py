"""`secure-sapefl keys`."""

import typer

app = typer.Typer(no_args_is_help=True)
