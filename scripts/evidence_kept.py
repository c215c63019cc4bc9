"""A study's file, and how its numbers came about. Pure."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final, NotRequired, TypedDict

MARKS: Final = ("<!-- evidence: written by `python scripts/evidence.py --page` -->", "<!-- end of evidence -->")
NONE: Final = "No study is finished."
WIDTH: Final = 120


class Finished(TypedDict):
    """What a `budget` said when all runs it was asked for were there: tables by title, as lines of Markdown."""

    command: str
    tables: dict[str, list[str]]


class Kept(TypedDict):
    """One study's file."""

    command: str
    sites: dict[str, Any]
    runs: list[dict[str, Any]]
    finished: NotRequired[Finished]


def between_marks(page: str, parts: Sequence[str]) -> str:
    begin, end = MARKS
    body = "\n\n".join(parts) or NONE
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n\n{body}\n\n{end}", page, flags=re.S)


def commands(kept: Sequence[Kept]) -> str:
    return made([one["command"] for one in kept], kept)


def made(commands: Sequence[str], kept: Sequence[Kept]) -> str:
    """How numbers came about."""
    lines = "\n".join(commands)
    return f"<!-- not run: takes hours -->\n```bash\n{lines}\n```\n\n{_made_by(kept)}"


def _made_by(kept: Sequence[Kept]) -> str:
    runs = [run for one in kept for run in one["runs"]]
    versions, commits = (sorted({run[key] for run in runs}) for key in ("version", "commit"))
    hours = sum(run["seconds"] for run in runs) / 3600
    made = f"Made by version {', '.join(versions)} (commits {', '.join(commits)}) in {hours:.1f} hours."
    return textwrap.fill(made, WIDTH)


def defined(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
