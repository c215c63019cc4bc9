"""`secure-sapefl bench`: ratios against a naive version, measured in the same run."""

import typer

app = typer.Typer(help="Measure this system against a naive version of itself, in one run.", no_args_is_help=True)
