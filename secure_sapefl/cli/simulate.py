"""`secure-sapefl simulate`: one study, all sites on this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secure_sapefl.cli.audit import audited, conclude
from secure_sapefl.cli.interruption import going_on_with, resume_command
from secure_sapefl.cli.live import live_view
from secure_sapefl.cli.options import Format, Quiet, in_running
from secure_sapefl.cli.progress import download_progress, round_progress
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.cli.tables import show_summary
from secure_sapefl.config import Config, read_toml
from secure_sapefl.own_code import short

if TYPE_CHECKING:
    from secure_sapefl.engine.events import Observer
    from secure_sapefl.engine.ranks import Ranks


@takes(Config)
def simulate(
    settings: dict[str, Any],
    config: Annotated[Path | None, in_running(help="A TOML file; options given here override it.")] = None,
    out: Annotated[Path | None, in_running(help="New folder for the run. [default: runs/DATE-METHOD-DATASET]")] = None,
    resume: Annotated[Path | None, in_running(help="Go on with a run that was stopped.")] = None,
    audit: Annotated[bool, in_running("--audit", help="Attack the run when it is over; see `audit`.")] = False,
    output: Format = "table",
    quiet: Quiet = False,
    live: Annotated[bool, in_running("--live", help="Show the report in a browser while it grows.")] = False,
) -> None:
    """Train and evaluate one method on one dataset, with all sites on this machine.

    Examples:

    `secure-sapefl simulate`

    `secure-sapefl simulate --dataset har --method fedavg --rounds 50 --data-dir data`

    `secure-sapefl simulate --dataset my.npz --option influence=0.25 --out runs/mine`

    `secure-sapefl simulate --dp-epsilon 4 --dp-delta 1e-5`

    `secure-sapefl simulate --late-clients 2`

    `secure-sapefl simulate --rounds 50 --live`

    `secure-sapefl simulate --resume runs/mine`

    `torchrun --nproc-per-node=2 -m secure_sapefl simulate --clients 1000 --peers-per-client 10`

    `secure-sapefl simulate --config runs/mine/config.toml --format json > numbers.json`
    """
    from secure_sapefl.engine.ranks import ranks_here
    from secure_sapefl.report.run_report import write_report

    chosen = _config(settings, config)
    folder = resume or out or _default_folder(chosen)
    with going_on_with(lambda: resume_command(folder, *_flags(audit, output, quiet, live))):
        with ranks_here() as ranks:
            if resume is not None:
                summary = _resume(resume, settings, config, out, quiet, live, ranks)
            else:
                summary = _simulate(chosen, folder, quiet, live, ranks)
        if not ranks.first:
            return
        write_report(folder)
        findings = audited(folder, quiet=quiet) if audit else None
    if output == "json":
        typer.echo(json.dumps(summary if findings is None else summary | {"audit": findings.to_json()}))
    else:
        show_summary(summary, folder)
    if findings is not None:
        conclude(findings, folder, show=output == "table")


def _simulate(config: Config, folder: Path, quiet: bool, live: bool, ranks: "Ranks") -> dict[str, Any]:
    from secure_sapefl.engine.assembly import federation_of
    from secure_sapefl.engine.simulator import simulate as run

    with download_progress() as progress:
        federation = federation_of(config, progress)
    with _watching(folder, config, quiet, live, ranks) as observers:
        return run(config, folder, federation=federation, observers=observers, ranks=ranks).summary()


@contextmanager
def _watching(
    folder: Path, config: Config, quiet: bool, live: bool, ranks: "Ranks"
) -> Iterator[tuple["Observer", ...]]:
    """Who is told of the rounds: somebody beside the server, nobody on other ranks."""
    if not ranks.first:
        yield ()
        return
    with live_view(live, folder) as watching, round_progress(config.rounds, quiet) as progress_bar:
        yield (*watching, progress_bar)


def _resume(
    folder: Path,
    settings: dict[str, Any],
    config: Path | None,
    out: Path | None,
    quiet: bool,
    live: bool,
    ranks: "Ranks",
) -> dict[str, Any]:
    from secure_sapefl.engine.run_folder import config_of
    from secure_sapefl.engine.simulator import resume as run
    from secure_sapefl.errors import BadInput

    if settings or config or out:
        raise BadInput("--resume goes on with the run as it was begun; leave out the other options of the study.")
    begun = ranks.from_first(lambda: config_of(folder))
    with _watching(folder, begun, quiet, live, ranks) as observers:
        return run(folder, observers=observers, ranks=ranks).summary()


def _config(settings: dict[str, Any], file: Path | None) -> Config:
    base = {} if file is None else read_toml(file)
    return Config.read(base | settings, "the command line" if file is None else str(file))


def _flags(audit: bool, output: str, quiet: bool, live: bool) -> list[str]:
    """How this command was asked to show its results; a resumed one takes nothing else."""
    asked = {"--audit": audit, "--format=json": output == "json", "--quiet": quiet, "--live": live}
    return [flag for flag, wanted in asked.items() if wanted]


def _default_folder(config: Config) -> Path:
    """runs/2026-01-31-120000-sapefl-synthetic, with -2, -3, … behind it for runs begun in the same second."""
    now = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    name = f"{now}-{short(config.method)}-{Path(config.dataset).stem}"
    numbered = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(Path("runs").joinpath, numbered) if not folder.exists())
