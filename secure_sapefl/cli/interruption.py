"""What Ctrl-C is answered with: the command that goes on, ready to be typed."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

INTERRUPTED = 130


@contextmanager
def going_on_with(command: Callable[[], str | None]) -> Iterator[None]:
    """``command`` is asked when it comes to that; None where nothing has been kept yet."""
    try:
        yield
    except KeyboardInterrupt:
        again = command()
        hint = "." if again is None else f"; what is finished is kept. Go on with:\n{again}"
        typer.echo(f"secure-sapefl: interrupted{hint}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def same_command() -> str:
    """As it was typed."""
    return shlex.join(["secure-sapefl", *sys.argv[1:]])


def resume_command(folder: Path, *flags: str) -> str | None:
    """For a run that has got as far as a folder of its own."""
    begun = (folder / "config.toml").is_file()
    return shlex.join(["secure-sapefl", "simulate", "--resume", str(folder), *flags]) if begun else None
