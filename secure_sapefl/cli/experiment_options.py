"""What the commands that run experiments share: options, progress on stderr, and showing the outcome."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click
import typer
from typer.core import TyperCommand

from secure_sapefl.cli.interruption import going_on_with, same_command
from secure_sapefl.cli.options import in_data, in_running, key_values
from secure_sapefl.cli.progress import step_progress
from secure_sapefl.cli.sheets import print_wide_table
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.experiments.executors.base import Executor
    from secure_sapefl.experiments.runner import Runner, Step
    from secure_sapefl.experiments.setting import Contender, Setting
    from secure_sapefl.experiments.tables import Document
    from secure_sapefl.report.charts.drawing import Chart

FIXED: Final = frozenset({"method", "options", "evaluate_every", "late_clients", "threads", "workers", "dp_ledgers"})
"""Settings that an experiment does not leave to its user, or asks for in its own way."""

Datasets = Annotated[
    list[str] | None, in_data("--dataset", help="A name or file; repeat the option, or separate by commas.")
]
Seeds = Annotated[int, typer.Option(help="How many seeds, counted from --seed.")]
Out = Annotated[Path | None, in_running(help="Folder of results; the same command goes on there. [default: in runs/]")]
Jobs = Annotated[int | None, in_running(min=1, help="Runs at a time, a core each. [default: all cores]")]
Ray = Annotated[
    str | None,
    in_running(
        metavar="[ADDRESS]",
        help="Compute over a Ray cluster: this machine's, or the one at ADDRESS; needs 'secure-sapefl[ray]'.",
    ),
]
Cells = Annotated[Path | None, in_running(help="Folder of finished runs, to share them. [default: OUT/cells]")]


def split(values: Sequence[str] | None) -> list[str]:
    """``--dataset a --dataset b,c`` as [a, b, c]."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]


def contenders(text: str) -> "list[Contender]":
    """``all``, or ``fedavg,perfedavg:form=hf,mine.py``; an option has a ``=``, the place of a method has none."""
    from secure_sapefl.algorithms.registry import ALGORITHMS
    from secure_sapefl.experiments.setting import Contender

    found = []
    for name in split([text]):
        first, *rest = name.split(":")
        place = [] if first in (*ALGORITHMS, "all") else [part for part in rest if "=" not in part]
        method, options = ":".join((first, *place)), [part for part in rest if part not in place]
        every = ALGORITHMS if method == "all" else (method,)
        found += [Contender(method=each, options=key_values(options)) for each in every]
    return found


def setting_of(settings: Mapping[str, Any], seeds: int, **fixed: Any) -> "Setting":
    from secure_sapefl.experiments.setting import Setting

    return Setting.from_values({**settings, **fixed}, seeds)


class SweepCommand(TyperCommand):
    """`--ray` without an address is this machine's cluster; Typer knows no option whose value may be left out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        following = [*args[1:], "-"]
        bare = [one == "--ray" and after.startswith("-") for one, after in zip(args, following, strict=True)]
        return super().parse_args(ctx, ["--ray=auto" if alone else one for one, alone in zip(args, bare, strict=True)])


@contextmanager
def running(out: Path, cells: Path | None, jobs: int | None, ray: str | None, quiet: bool) -> Iterator["Runner"]:
    """A runner that saves into ``cells`` and tells how far it is."""
    from secure_sapefl.experiments.cells import CellStore
    from secure_sapefl.experiments.runner import Runner

    with going_on_with(same_command), step_progress(quiet) as (tell, console):

        def on_step(step: "Step") -> None:
            tell(step.stage, step.done, step.total, _news(step))

        with _executor(jobs, ray, partial(console.print, highlight=False, soft_wrap=True, markup=False)) as executor:
            yield Runner(store=CellStore(cells or out / "cells"), executor=executor, on_step=on_step)


def _executor(jobs: int | None, ray: str | None, tell: Callable[[str], None]) -> AbstractContextManager["Executor"]:
    from secure_sapefl.experiments.executors.processes import Processes, default_jobs
    from secure_sapefl.experiments.executors.ray_cluster import ray_cluster

    if ray is None:
        return nullcontext(Processes(jobs or default_jobs()))
    if jobs is not None:
        raise BadInput("--jobs counts processes of this machine, and a Ray cluster knows its cores. Leave one out.")
    return ray_cluster(ray, tell)


def _news(step: "Step") -> str:
    from secure_sapefl.experiments.statistics import mean_of_defined

    result = step.result
    main = result.shown[0].form(mean_of_defined(result.main))
    left = "" if step.seconds_left is None else f", {_duration(step.seconds_left)} left"
    return f"{step.cell}: {main} ({'found finished' if step.found else _duration(result.seconds)}){left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def conclude(document: "Document", charts: "Sequence[Chart]", out: Path, output: str) -> None:
    """Write NAME.md, NAME.csv, NAME.json and the charts, then print."""
    from secure_sapefl.experiments.output import save
    from secure_sapefl.experiments.plots import draw

    contents = json.dumps(document.to_json(), indent=1)
    for suffix, text in (("md", document.to_markdown()), ("csv", document.to_csv()), ("json", contents)):
        save(out / f"{document.name}.{suffix}", text.encode())
    draw(charts, out)
    if output == "json":
        typer.echo(contents)
        return
    show(document, out)


def show(document: "Document", out: Path) -> None:
    for line in (document.title, *document.setting):
        typer.echo(line)
    for sheet in document.sheets:
        print_wide_table(sheet.title, sheet.header, sheet.rows)
    for line in (*document.notes, f"Files: {out}"):
        typer.echo(line)
