"""`secure-sapefl bench simulate`: engines, modules of one's own, phases, scaling and evaluation in the simulator."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table

if TYPE_CHECKING:
    from secure_sapefl.experiments.bench_modules import ModuleRow
    from secure_sapefl.experiments.bench_simulate import EngineRow, EvaluationRow, PhaseRow, ScalingRow

Part = Literal["engines", "modules", "phases", "scaling", "evaluation"]


def simulate(
    part: Annotated[Part | None, typer.Option(help="One part only; by default all five.")] = None,
    output: Format = "table",
) -> None:
    """Simulation: batched against sequential training, modules of one's own, a round by phase, growth with sites, and
    what evaluation costs.

    Examples:

    `secure-sapefl bench simulate`

    `secure-sapefl bench simulate --part engines --format json`
    """
    from secure_sapefl.experiments import bench_modules
    from secure_sapefl.experiments import bench_simulate as bench

    def tell(news: str) -> None:
        typer.echo(news, err=True)

    engines = list(bench.engines(tell)) if part in (None, "engines") else []
    modules = bench_modules.modules(tell) if part in (None, "modules") else []
    phases = list(bench.phases(tell)) if part in (None, "phases") else []
    scaling = list(bench.scaling(tell)) if part in (None, "scaling") else []
    evaluation = list(bench.evaluation(tell)) if part in (None, "evaluation") else []
    if output == "json":
        typer.echo(json.dumps(bench.to_json(engines, phases, scaling, evaluation) | bench_modules.to_json(modules)))
        return
    if engines:
        _show_engines(engines)
    if modules:
        _show_modules(modules)
    if phases:
        _show_phases(phases, bench.ckks_share(phases))
    if scaling:
        _show_scaling(scaling)
    if evaluation:
        _show_evaluation(evaluation)


def _show_engines(rows: "list[EngineRow]") -> None:
    columns = (
        "model",
        "parameters",
        "sites",
        "sequential s",
        "batched s",
        "ms a site's step",
        "ratio",
        "operations a step",
    )
    print_table("", columns, map(_engine, rows))


def _engine(row: "EngineRow") -> tuple[str, ...]:
    each = 1e3 * row.batched_seconds / row.steps
    numbers = (f"{row.sequential_seconds:.2f}", f"{row.batched_seconds:.2f}", f"{each:.3f}", f"{row.ratio:.1f}×")
    operations = ", ".join(f"{count:.0f} {name}" for name, count in row.operations.items())
    return (row.setting, f"{row.parameters:,}", str(row.clients), *numbers, operations)


def _show_modules(rows: "list[ModuleRow]") -> None:
    cells = [(row.model, f"{row.parameters:,}", f"{row.seconds:.3f}", f"{row.ratio:.2f}×") for row in rows]
    print_table("", ("model", "parameters", "CPU seconds an epoch", "to built-in"), cells)


def _show_phases(rows: "list[PhaseRow]", share: float | None) -> None:
    names = list(rows[0].seconds)
    cells = [
        (row.protection, *(f"{row.seconds[name]:.2f}" for name in names), f"{row.personal_over_local:.2f}×")
        for row in rows
    ]
    caption = "" if share is None else f"Encryption is {share:.0%} of the encrypted round."
    print_table("", ("seconds a round", *names, "personal/local"), cells, caption=caption)


def _show_scaling(rows: "list[ScalingRow]") -> None:
    cells = [
        (row.clients, row.sampled, row.peers, f"{row.seconds_per_round:.2f}", f"{row.microseconds_per_pair:.0f}")
        for row in rows
    ]
    print_table("", ("sites", "sampled", "peers each", "seconds a round", "µs a site and peer"), cells)


def _show_evaluation(rows: "list[EvaluationRow]") -> None:
    cells = [(row.method, f"{row.every_seconds:.2f}", f"{row.last_seconds:.2f}", f"{row.ratio:.2f}×") for row in rows]
    print_table("", ("method", "seconds a round, each evaluated", "the last evaluated", "ratio"), cells)
