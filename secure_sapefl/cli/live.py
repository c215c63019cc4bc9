"""`--live`: a page in a browser on this machine while a simulation or a study's server runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from secure_sapefl.engine.events import Observer


@contextmanager
def live_view(wanted: bool, folder: Path) -> "Iterator[tuple[Observer, ...]]":
    """Serve the report of what is run inside, if it is wanted, and say where. It ends with the run, whose observers
    this yields."""
    if not wanted:
        yield ()
        return
    from secure_sapefl.report.live import serve_live

    with serve_live(folder.resolve().name) as (address, observer):
        typer.echo(f"Live: {address} (on this machine, until the run ends)", err=True)
        yield (observer,)


@contextmanager
def server_view(wanted: bool, read: "Callable[[], Mapping[str, Any]]") -> Iterator[None]:
    """The same for a study's server, whose newest status ``read`` gives."""
    if not wanted:
        yield
        return
    from secure_sapefl.report.live import serve
    from secure_sapefl.report.server_live import ServerSource

    with serve(ServerSource(read)) as address:
        typer.echo(f"Live: {address} (on this machine, until the server ends)", err=True)
        yield
