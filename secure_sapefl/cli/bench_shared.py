"""`secure-sapefl bench shared-noise`: a step under shared noise, by protection."""

import json
from typing import Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table


def shared_noise(
    clients: Annotated[int, typer.Option(min=4, help="Sites, all of them in every step.")] = 20,
    steps: Annotated[int, typer.Option(min=1, max=400, help="Steps of the study.")] = 10,
    output: Format = "table",
) -> None:
    """A step under shared noise of the small model: seconds and bytes, in the clear, under one key, under joint keys.

    Example: `secure-sapefl bench shared-noise --clients 5 --steps 200`
    """
    from secure_sapefl.experiments import bench_shared as bench
    from secure_sapefl.experiments.bench_simulate import SMALL
    from secure_sapefl.models.stacked import build_model

    parameters = build_model((SMALL.features,), SMALL.classes, "small").parameters
    rows = list(bench.shared_steps(lambda news: typer.echo(news, err=True), clients, steps))
    if output == "json":
        typer.echo(json.dumps(bench.to_json(rows, parameters)))
        return
    cells = [
        (row.way, f"{row.seconds:.3f}", f"{row.up / 1e3:.1f}", f"{row.down / 1e3:.1f}", f"{row.study_seconds:.1f}")
        for row in rows
    ]
    title = f"{clients} sites, {steps} steps, {parameters:,} parameters"
    columns = ("", "seconds a step, everybody", "kB up, a site", "kB down", "seconds in all")
    print_table(title, columns, cells)
