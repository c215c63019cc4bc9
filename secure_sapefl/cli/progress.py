"""Progress on stderr, so that stdout stays clean for results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from secure_sapefl.plain_text import printable

if TYPE_CHECKING:
    from secure_sapefl.data import Progress as FetchProgress
    from secure_sapefl.engine.events import Observer, RunEvent

Tell = Callable[[str, int, int, str], None]
"""What is done, how much of it, of how much, and the news."""


@contextmanager
def step_progress(quiet: bool, *more: ProgressColumn) -> Iterator[tuple[Tell, Console]]:
    """A bar on stderr of what is done, of how much, and the news of it; on a pipe, one line a step. The console is for
    what else is to be said."""
    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[news]}"))
    shown = (*columns, TimeElapsedColumn(), *more)
    with Progress(*shown, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("starting", total=None, news="")

        def tell(what: str, done: int, total: int, news: str) -> None:
            progress.update(task, description=what, completed=done, total=total, news=news)
            if not console.is_terminal:
                console.print(f"{what} {done}/{total}  {news}", markup=False, highlight=False, soft_wrap=True)

        yield tell, console


@contextmanager
def round_progress(rounds: int, quiet: bool) -> "Iterator[Observer]":
    """The accuracy so far and the time left. It observes the run."""
    from secure_sapefl.engine.events import RoundClosed, RunBegun  # imports torch, which the run needs anyway
    from secure_sapefl.engine.observers.news import news_of, remarks_on

    with step_progress(quiet, TextColumn("left"), TimeRemainingColumn()) as (tell, console):

        def hear(event: "RunEvent") -> None:
            nonlocal rounds
            if isinstance(event, RunBegun):
                rounds = event.config.rounds
                for sentence in event.plan:
                    console.print(printable(f"plan: {sentence}"), markup=False, highlight=False, soft_wrap=True)
            if isinstance(event, RoundClosed):
                tell("round", event.record.round_index + 1, rounds, news_of(event.record))
                for remark in remarks_on(event.record):
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
