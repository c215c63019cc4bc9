"""`secure-sapefl bench simulate`: engines, their floor, own modules, phases, scaling and evaluation."""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table

if TYPE_CHECKING:
    from secure_sapefl.experiments.bench.floor import FloorRow
    from secure_sapefl.experiments.bench_modules import ModuleRow
    from secure_sapefl.experiments.bench_simulate import EngineRow, EvaluationRow, PhaseRow, ScalingRow

Part = Literal["engines", "floor", "modules", "phases", "scaling", "evaluation"]


def simulate(
    part: Annotated[Part | None, typer.Option(help="One part only; by default all six.")] = None,
    output: Format = "table",
) -> None:
    """Simulation: batched against sequential training, what no engine would save, modules of one's own, a round by
    phase, growth with sites, and what evaluation costs.

    Examples:

    `secure-sapefl bench simulate`

    `secure-sapefl bench simulate --part engines --format json`
    """
    from secure_sapefl.experiments import bench_modules
    from secure_sapefl.experiments import bench_simulate as bench
    from secure_sapefl.experiments.bench import floor as bench_floor

    def tell(news: str) -> None:
        typer.echo(news, err=True)

    measures: dict[str, tuple[Callable[..., Iterable[Any]], Callable[..., None]]] = {
        "engines": (bench.engines, _show_engines),
        "floor": (bench_floor.floors, _show_floor),
        "modules": (bench_modules.modules, _show_modules),
        "phases": (bench.phases, _show_phases),
        "scaling": (bench.scaling, _show_scaling),
        "evaluation": (bench.evaluation, _show_evaluation),
    }
    found: dict[str, list[Any]] = {
        name: list(measure(tell)) if part in (None, name) else [] for name, (measure, _) in measures.items()
    }
    if output == "json":
        apart = bench_modules.to_json(found.pop("modules")) | bench_floor.to_json(found.pop("floor"))
        typer.echo(json.dumps(bench.to_json(*found.values()) | apart))
        return
    for name, rows in found.items():
        if rows:
            measures[name][1](rows)


def _show_engines(rows: "list[EngineRow]") -> None:
    timed = ("sequential s", "batched s", "ms a site's step", "ratio")
    print_table("", ("model", "parameters", "sites", *timed, "operations a step"), map(_engine, rows))


def _engine(row: "EngineRow") -> tuple[str, ...]:
    each = 1e3 * row.batched_seconds / row.steps
    numbers = (f"{row.sequential_seconds:.2f}", f"{row.batched_seconds:.2f}", f"{each:.3f}", f"{row.ratio:.1f}×")
    operations = ", ".join(f"{count:.0f} {name}" for name, count in row.operations.items())
    return (row.setting, f"{row.parameters:,}", str(row.clients), *numbers, operations)


def _show_floor(rows: "list[FloorRow]") -> None:
    cells = [
        (row.model, f"{row.seconds:.3f}", f"{row.in_products:.0%}", f"{row.floor_share:.0%}", f"{row.most_gained:.2f}×")
        for row in rows
    ]
    columns = ("model", "CPU seconds an epoch", "in products", "at a large product's speed", "at most faster")
    print_table("", columns, cells)


def _show_modules(rows: "list[ModuleRow]") -> None:
    cells = [(row.model, f"{row.parameters:,}", f"{row.seconds:.3f}", f"{row.ratio:.2f}×") for row in rows]
    print_table("", ("model", "parameters", "CPU seconds an epoch", "to built-in"), cells)


def _show_phases(rows: "list[PhaseRow]") -> None:
    from secure_sapefl.experiments.bench_simulate import ckks_share

    names, share = list(rows[0].seconds), ckks_share(rows)
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
    simplest = rows[0]
    cells = [
        (
            *(row.method, f"{row.every_seconds:.2f}", f"{row.last_seconds:.2f}", f"{row.ratio:.2f}×"),
            f"{row.last_seconds / simplest.last_seconds:.1f}×",
        )
        for row in rows
    ]
    columns = ("method", "seconds a round, each evaluated", "the last evaluated", "ratio", f"to {simplest.method}")
    print_table("", columns, cells)
