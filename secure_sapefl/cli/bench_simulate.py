"""`secure-sapefl bench simulate`: engines, phases and scaling of the simulator."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from secure_sapefl.experiments.bench_simulate import EngineRow, PhaseRow, ScalingRow

Part = Literal["engines", "phases", "scaling"]


def simulate(
    part: Annotated[Part | None, typer.Option(help="One part only; by default all three.")] = None,
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Simulation: batched against sequential training, a round by phase, and growth with clients.

    Examples:

    `secure-sapefl bench simulate`

    `secure-sapefl bench simulate --part engines --format json`
    """
    from secure_sapefl.experiments import bench_simulate as bench

    def tell(news: str) -> None:
        typer.echo(news, err=True)

    engines = list(bench.engines(tell)) if part in (None, "engines") else []
    phases = list(bench.phases(tell)) if part in (None, "phases") else []
    scaling = list(bench.scaling(tell)) if part in (None, "scaling") else []
    if output == "json":
        typer.echo(json.dumps(bench.to_json(engines, phases, scaling)))
        return
    console = Console()
    for table in (_engines(engines), _phases(phases, bench.ckks_share(phases)), _scaling(scaling)):
        if table.row_count:
            console.print(table)


def _engines(rows: "list[EngineRow]") -> Table:
    table = Table("model", "parameters", "sites", "sequential s", "batched s", "ms a site's step", "ratio")
    for row in rows:
        each = 1e3 * row.batched_seconds / row.steps
        numbers = (f"{row.sequential_seconds:.2f}", f"{row.batched_seconds:.2f}", f"{each:.3f}", f"{row.ratio:.1f}×")
        table.add_row(row.setting, f"{row.parameters:,}", str(row.clients), *numbers)
    return table


def _phases(rows: "list[PhaseRow]", share: float | None) -> Table:
    names = list(rows[0].seconds) if rows else []
    table = Table("seconds a round", *names, "personal/local")
    for row in rows:
        cells = (f"{row.seconds[name]:.2f}" for name in names)
        table.add_row(row.protection, *cells, f"{row.personal_over_local:.2f}×")
    if share is not None:
        table.caption = f"Encryption is {share:.0%} of the encrypted round."
    return table


def _scaling(rows: "list[ScalingRow]") -> Table:
    table = Table("clients", "sampled", "peers each", "seconds a round", "µs a client and peer")
    for row in rows:
        numbers = (f"{row.seconds_per_round:.2f}", f"{row.microseconds_per_pair:.0f}")
        table.add_row(str(row.clients), str(row.sampled), str(row.peers), *numbers)
    return table
