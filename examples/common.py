"""What the examples share: how they talk, and how they run many simulations."""

import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secure_sapefl import Config, simulate
from secure_sapefl.engine.result import Result

QUICK = {"rounds": 1, "local_epochs": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    quick: bool
    out: Path

    def config(self, file: Path, **changes: object) -> Config:
        """The example's `simulation.toml`, with changes; tiny in a quick run. One thread, no helper processes."""
        small = QUICK if self.quick else {}
        values = Config.load(file).model_dump() | {"threads": 1, "workers": 0} | small | changes
        return Config.read(values, str(file))


@dataclass(frozen=True, slots=True)
class Finished:
    folder: Path
    result: Result


def run_all(configs: Mapping[str, Config], out: Path) -> dict[str, Finished]:
    """Every simulation, one after the other, each in a folder of its name."""
    finished = {}
    start = time.monotonic()
    for done, (name, config) in enumerate(configs.items()):
        left = "" if not done else f", {(time.monotonic() - start) / done * (len(configs) - done):.0f} s left"
        progress(f"run {done + 1} of {len(configs)}: {name}{left}")
        finished[name] = Finished(out / name, simulate(config, out / name))
    return finished


def progress(text: str) -> None:
    """On stderr: what is on stdout is the result. On a terminal every line takes the place of the one before."""
    start, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    print(f"{start}{text}", end=end, file=sys.stderr, flush=True)


@contextmanager
def took(what: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    print(f"\n{what}: {time.monotonic() - start:.0f} s.")


def title(text: str) -> None:
    if sys.stderr.isatty():
        progress("")
    print(f"\n{text}\n{'-' * len(text)}")


def say(text: str) -> None:
    print(textwrap.fill(" ".join(text.split()), 100))


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns as wide as they must be, the first to the left and the others to the right."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        first, others = row[0].ljust(widths[0]), (cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
        print("  ".join((first, *others)).rstrip())


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def signed(difference: float) -> str:
    """In points of a hundred."""
    return f"{100 * difference:+.1f}".replace("-", "−")
