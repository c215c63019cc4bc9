"""`secure-sapefl bench`: ratios against a naive version, measured in the same run."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from secure_sapefl.cli.bench_dp import dp
from secure_sapefl.cli.bench_simulate import simulate

if TYPE_CHECKING:
    from sapefl_crypto.bench_report import Report

app = typer.Typer(help="Measure this system against a naive version of itself, in one run.", no_args_is_help=True)


app.command("simulate")(simulate)
app.command("dp")(dp)


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


@app.callback()
def _bench() -> None:
    """Measure this system against a naive version of itself, in one run."""


@app.command()
def crypto(
    params: Annotated[int, typer.Option(min=1, help="Length of the vector, in parameters.")] = 1_228_038,
    clients: Annotated[int, typer.Option(min=1, help="Sites in the round.")] = 10,
    format: Annotated[Format, typer.Option(help="A table, or one JSON document on stdout.")] = Format.TABLE,
) -> None:
    """Encrypted aggregation: this recipe against the ordinary TenSEAL code (N = 8192, [60, 40, 40, 60], public key).

    Example: `secure-sapefl bench crypto --params 100000 --clients 5 --format json`
    """
    from sapefl_crypto.bench import run

    report = run(params, clients, lambda news: typer.echo(news, err=True))
    if format is Format.JSON:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    else:
        _show_crypto(report)


def _show_crypto(report: "Report") -> None:
    console = Console()
    for table in (_costs(report), _scaling(report), _targets(report)):
        console.print(table)
    memory = ", ".join(f"{peak:.0f} MB with {count}" for count, peak in report.peak_memory_mb.items())
    console.print(f"Peak memory of the server's process: {memory} clients.", highlight=False)
    console.print(f"{report.security_bits} bits of security; promised error {report.promised_error:.1e}.")


def _costs(report: "Report") -> Table:
    table = Table("", "this recipe", "ordinary TenSEAL", "ratio", title_justify="left")
    table.title = f"{report.parameters:,} parameters, {report.clients} clients"
    ours, naive = report.to_dict()["ours"], report.to_dict()["naive"]
    for name, cost in ours.items():
        ratio = f"{report.ratios[name]:.1f}×" if name in report.ratios else ""
        table.add_row(name.replace("_", " "), f"{cost:.3g}", f"{naive[name]:.3g}", ratio)
    return table


def _scaling(report: "Report") -> Table:
    table = Table("processes", "encrypt s", "aggregate s", "decrypt s", title="Over cores", title_justify="left")
    for row in report.scaling:
        seconds = (row.encrypt_seconds, row.aggregate_seconds_per_client, row.decrypt_seconds)
        table.add_row(str(row.workers), *(f"{value:.3f}" for value in seconds))
    return table


def _targets(report: "Report") -> Table:
    table = Table("target", "goal", "measured", "met", title="Targets", title_justify="left")
    for target in report.targets:
        table.add_row(target.name, target.goal, f"{target.value:.3g}", "yes" if target.met else "no")
    return table
