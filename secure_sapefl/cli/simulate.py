"""`secure-sapefl simulate`: one study, all sites on this machine."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from secure_sapefl.cli.audit import audited, conclude
from secure_sapefl.cli.live import live_view
from secure_sapefl.cli.options import given, key_values
from secure_sapefl.cli.progress import download_progress, round_progress
from secure_sapefl.cli.tables import show_summary

if TYPE_CHECKING:
    from secure_sapefl.config import Config


def simulate(
    dataset: Annotated[str | None, typer.Option(help="A registered name, or a path to an .npz or .csv file.")] = None,
    method: Annotated[str | None, typer.Option(help="See `secure-sapefl methods`.")] = None,
    clients: Annotated[int | None, typer.Option(help="Sites; by default all natural groups, else 20.")] = None,
    late_clients: Annotated[
        int | None, typer.Option(help="Of these, the last N join after training, by one round. [default: 0]")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of training. [default: 10]")] = None,
    participation: Annotated[float | None, typer.Option(help="Share of sites in a round. [default: 0.7]")] = None,
    partition: Annotated[str | None, typer.Option(help="natural, dirichlet, iid or clustered.")] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Dirichlet concentration; small is skewed. [default: 0.3]")
    ] = None,
    clusters: Annotated[int | None, typer.Option(help="Groups of sites that disagree on labels. [default: 4]")] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes every random draw. [default: 0]")] = None,
    local_epochs: Annotated[int | None, typer.Option(help="Epochs a round, E. [default: 5]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="[default: 16]")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of SGD. [default: 0.05]")] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Evaluate every so many rounds. [default: 1]")] = None,
    model: Annotated[str | None, typer.Option(help="small or paper (1024-512-256 or the wide CNN).")] = None,
    protection: Annotated[str | None, typer.Option(help="ckks or plaintext. [default: ckks]")] = None,
    dp_epsilon: Annotated[float | None, typer.Option(help="Privacy budget of each site; with --dp-delta.")] = None,
    dp_delta: Annotated[float | None, typer.Option(help="Far below 1 / rows of a site, e.g. 1e-5.")] = None,
    dp_clip: Annotated[float | None, typer.Option(help="Largest gradient of one record. [default: 1]")] = None,
    dp_score_fraction: Annotated[
        float | None, typer.Option(help="Share of the budget for similarity scores. [default: 0.1]")
    ] = None,
    dp_secure_noise: Annotated[
        bool | None, typer.Option("--dp-secure-noise", help="Cryptographically secure noise; cannot be repeated.")
    ] = None,
    dp_ledgers: Annotated[
        Path | None, typer.Option(help="Folder of the sites' ledgers; what earlier runs spent counts. [default: none]")
    ] = None,
    peers_per_client: Annotated[int | None, typer.Option(help="Give each site a random k peers, not all.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:1. [default: auto]")] = None,
    engine: Annotated[str | None, typer.Option(help="batched, or sequential (the slow reference).")] = None,
    group_size: Annotated[int | None, typer.Option(help="Sites trained together; by default from memory.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads that train; by default all cores but one.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that encrypt; 0 for none besides this one.")] = None,
    rows: Annotated[int | None, typer.Option(help="Use a random part of the data, for quick runs.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with .npz files; also $SAPEFL_DATA.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a CSV file.")] = None,
    group: Annotated[str | None, typer.Option(help="Site column of a CSV file.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the method, e.g. influence=0.25.")] = None,
    data_option: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the dataset, e.g. flip_y=0.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file; options given here override it.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="New folder for the run. [default: runs/DATE-METHOD-DATASET]")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a run that was stopped.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Attack the run when it is over; see `audit`.")] = False,
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print at the end.")] = "table",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Show the report in a browser while it grows.")] = False,
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

    `secure-sapefl simulate --config runs/mine/config.toml --format json > numbers.json`
    """
    settings = given(
        dataset=dataset,
        method=method,
        clients=clients,
        late_clients=late_clients,
        rounds=rounds,
        participation=participation,
        partition=partition,
        kappa=kappa,
        clusters=clusters,
        seed=seed,
        local_epochs=local_epochs,
        batch_size=batch_size,
        lr=lr,
        evaluate_every=evaluate_every,
        model=model,
        protection=protection,
        dp_epsilon=dp_epsilon,
        dp_delta=dp_delta,
        dp_clip=dp_clip,
        dp_score_fraction=dp_score_fraction,
        dp_secure_noise=dp_secure_noise,
        dp_ledgers=dp_ledgers,
        peers_per_client=peers_per_client,
        device=device,
        engine=engine,
        group_size=group_size,
        threads=threads,
        workers=workers,
        rows=rows,
        data_dir=data_dir,
        label=label,
        group=group,
        options=key_values(option),
        data_options=key_values(data_option),
    )
    if resume is not None:
        summary, folder = _resume(resume, settings, config, out, quiet, live), resume
    else:
        chosen = _config(settings, config)
        folder = out or _default_folder(chosen)
        summary = _simulate(chosen, folder, quiet, live)
    findings = audited(folder, quiet=quiet) if audit else None
    if output == "json":
        typer.echo(json.dumps(summary if findings is None else summary | {"audit": findings.to_json()}))
    else:
        show_summary(summary, folder)
    if findings is not None:
        conclude(findings, folder, show=output == "table")


def _simulate(config: "Config", folder: Path, quiet: bool, live: bool) -> dict[str, Any]:
    from secure_sapefl.engine.simulator import federation_of
    from secure_sapefl.engine.simulator import simulate as run
    from secure_sapefl.report.run_report import write_report

    with download_progress() as progress:
        federation = federation_of(config, progress)
    with live_view(live, folder, config, lambda: federation), round_progress(config.rounds, quiet) as on_round:
        summary = run(config, folder, on_round, federation).summary()
    write_report(folder)
    return summary


def _resume(
    folder: Path, settings: dict[str, Any], config: Path | None, out: Path | None, quiet: bool, live: bool
) -> dict[str, Any]:
    from secure_sapefl.engine.run_folder import RunFolder
    from secure_sapefl.engine.simulator import federation_of
    from secure_sapefl.engine.simulator import resume as run
    from secure_sapefl.errors import BadInput
    from secure_sapefl.report.run_report import write_report

    if settings or config or out:
        raise BadInput("--resume goes on with the run as it was begun; leave out the other options of the study.")
    begun = RunFolder.reopen(folder)[1]
    with (
        live_view(live, folder, begun, lambda: federation_of(begun)),
        round_progress(begun.rounds, quiet) as on_round,
    ):
        summary = run(folder, on_round).summary()
    write_report(folder)
    return summary


def _config(settings: dict[str, Any], file: Path | None) -> "Config":
    from secure_sapefl.config import Config, read_toml

    base = {} if file is None else read_toml(file)
    return Config.read(base | settings, "the command line" if file is None else str(file))


def _default_folder(config: "Config") -> Path:
    """runs/2026-01-31-120000-sapefl-synthetic."""
    now = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    return Path("runs") / f"{now}-{config.method}-{Path(config.dataset).stem}"
