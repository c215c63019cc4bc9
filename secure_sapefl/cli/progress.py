"""Progress on stderr, so that stdout stays clean for results."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from secure_sapefl.plain_text import printable

if TYPE_CHECKING:
    from secure_sapefl.data import Progress as FetchProgress
    from secure_sapefl.engine.events import Observer, RunEvent
    from secure_sapefl.engine.result import RoundRecord


@contextmanager
def round_progress(rounds: int, quiet: bool) -> "Iterator[Observer]":
    """A bar with the accuracy so far and the time left; on a pipe, one line a round. It observes the run."""
    from secure_sapefl.engine.events import RoundClosed, RunBegun  # imports torch, which the run needs anyway
    from secure_sapefl.engine.observers.news import news_of, remarks_on

    console = Console(stderr=True, quiet=quiet)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[news]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("round", total=rounds, news="starting")

        def hear(event: "RunEvent") -> None:
            if isinstance(event, RunBegun):
                progress.update(task, total=event.config.rounds)
                for sentence in event.plan:
                    console.print(printable(f"plan: {sentence}"), markup=False, highlight=False, soft_wrap=True)
            if isinstance(event, RoundClosed):
                show(event.record)

        def show(record: "RoundRecord") -> None:
            news = news_of(record)
            progress.update(task, completed=record.round_index + 1, news=news)
            if not console.is_terminal:
                of = f"{progress.tasks[task].total:.0f}"
                console.print(f"round {record.round_index + 1}/{of}  {news}", highlight=False, soft_wrap=True)
            for remark in remarks_on(record):
                console.print(remark, markup=False)

        yield hear


@contextmanager
def download_progress() -> Iterator["FetchProgress"]:
    """A bar on stderr for each file that is downloaded; nothing is shown where none is."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=Console(stderr=True))
    tasks: dict[str, TaskID] = {}

    def report(name: str, received: int, total: int | None) -> None:
        bars.start()
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=total)
        bars.update(tasks[name], completed=received, total=total)

    try:
        yield report
    finally:
        if tasks:
            bars.stop()
