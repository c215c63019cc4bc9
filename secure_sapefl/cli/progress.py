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
            news = _news(record)
            progress.update(task, completed=record.round_index + 1, news=news)
            if not console.is_terminal:
                of = f"{progress.tasks[task].total:.0f}"
                console.print(f"round {record.round_index + 1}/{of}  {news}", highlight=False, soft_wrap=True)
            for refusal in record.refusals:
                told = f"round {record.round_index + 1}: {refusal.site} left out: {refusal.reason}"
                console.print(printable(told), markup=False)
            if _all_scores_zero(record):
                console.print(f"round {record.round_index + 1}: all scores are zero, the global model stays as it was")

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


def _all_scores_zero(record: "RoundRecord") -> bool:
    """Updates came and a sum was made, and still nothing moved. A rejected sum is told as the server's refusal."""
    rejected = any(refusal.site == "server" for refusal in record.refusals)
    return bool(record.traffic.update) and not record.changed and not rejected


def _news(record: "RoundRecord") -> str:
    """Accuracy and AUC of a round that was evaluated, peers of a method that has them, and their scores where sent."""
    similarity, parts = record.similarity, []
    if record.personal.accuracy.per_client:
        parts += [f"accuracy {record.personal.accuracy.mean:.3f}", f"AUC {record.personal.auc.mean:.3f}"]
    if "peers_passed" in similarity:
        parts.append(f"similar peers {similarity['peers_passed']:.1f} of {similarity['peers_received']:.1f}")
        if "score_min" in similarity:
            parts.append(f"scores {similarity['score_min']:.1f} to {similarity['score_max']:.1f}")
    return "  ".join(parts) or "done"
