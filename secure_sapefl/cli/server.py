"""`secure-sapefl server`: run a study's server, and look at it. It holds no key that opens anything."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secure_sapefl.cli.interruption import same_command
from secure_sapefl.cli.live import server_view
from secure_sapefl.cli.options import Format
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.cli.transport import JsonLogs, MetricsPort, WithoutTls, host_and_port, warn_of_certificate
from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import printable

if TYPE_CHECKING:
    from secure_sapefl.transport.flower import Tls

app = typer.Typer(help="Run a study's server, make its certificates, look at its progress.", no_args_is_help=True)

State = Annotated[Path, typer.Option(help="Folder of the server's state.", envvar="SAPEFL_SERVER")]


@app.command()
def certificates(
    out: Annotated[Path, typer.Option(help="Folder for ca.pem, server.pem and their keys.")],
    hosts: Annotated[list[str], typer.Option("--host", help="Name or address sites reach the server by; repeat.")],
    days: Annotated[int, typer.Option(help="How long they are valid.", min=1)] = 825,
) -> None:
    """Make an authority of your own and the server's TLS certificate. Sites are given ca.pem, and nothing else.

    Examples:

    `secure-sapefl server certificates --out tls --host study.example.org --host 127.0.0.1`
    """
    from sapefl_crypto.keys.certificates import make_certificates

    out.mkdir(parents=True, exist_ok=True)
    files = make_certificates(out, hosts, days=days)
    typer.echo(f"For the sites:  {files.ca}")
    typer.echo(f"For the server: {files.certificate}, {files.key} (keep the key here)")
    typer.echo(f"Authority key:  {files.ca_key} (move it offline; it is needed to renew)")


@app.command()
def start(
    study: Annotated[Path, typer.Option(help="The signed study file.")],
    key: Annotated[Path, typer.Option(help="The coordinator's private key file.")],
    state: State = Path("server"),
    listen: Annotated[str, typer.Option(help="HOST:PORT to listen on.")] = "127.0.0.1:9092",
    tls: Annotated[Path | None, typer.Option(help="Folder made by `server certificates`.", show_default=False)] = None,
    without_tls: WithoutTls = False,
    node_keys: Annotated[
        Path | None,
        typer.Option(help="Folder of relays' public keys (*.pub): only these may connect.", show_default="STATE/nodes"),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Folder of socket and Flower's files.", show_default="STATE.run, beside STATE")
    ] = None,
    relay_user: Annotated[
        str | None, typer.Option(help="Run what is Flower's as this user (root only).", show_default=False)
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(help="How many sites to ask at a time; few spare a small machine.", min=1, show_default="all"),
    ] = None,
    passphrase_file: PassphraseFile = None,
    metrics_port: MetricsPort = None,
    json_logs: JsonLogs = False,
    live: Annotated[bool, typer.Option("--live", help="Show the study's progress on a page on this machine.")] = False,
) -> None:
    """Serve a study until every site has every round. Started again after a crash, it goes on where it was.

    Sites reach Flower through a gate, which passes the calls of their nodes and nothing else.

    Examples:

    `secure-sapefl server start --study study.toml --key coordinator.key --tls tls --listen 0.0.0.0:9092`

    `secure-sapefl server start --study study.toml --key coordinator.key --without-tls --metrics-port 9400 --live`
    """
    from secure_sapefl.coordinator.runner import ServerSettings, run_server
    from secure_sapefl.coordinator.state import read_status
    from secure_sapefl.study.file import read_study
    from secure_sapefl.transport.logs import log_to_terminal
    from secure_sapefl.transport.metrics import SERVER_GAUGES, metrics_on
    from secure_sapefl.transport.stopping import asked_to_stop

    file = read_study(study)
    host, port = host_and_port(listen)
    settings = ServerSettings(
        study=study,
        key=key,
        passphrase=known_passphrase(key, passphrase_file),
        state=state,
        run=state.absolute().with_name(state.name + ".run") if run is None else run.absolute(),
        host=host,
        port=port,
        tls=_tls(tls, without_tls),
        node_keys=(state / "nodes" if node_keys is None else node_keys).absolute(),
        relay_user=relay_user,
        at_once=at_once,
    )
    with (
        log_to_terminal(json_lines=json_logs),
        asked_to_stop() as stopped,
        metrics_on(metrics_port, lambda: read_status(state), SERVER_GAUGES),
        server_view(live, lambda: read_status(state)),
    ):
        what = f"{len(file.sites)} sites, {file.rounds} rounds"
        typer.echo(f"Study {file.name!r} ({file.digest[:16]}) on {listen}: {what}")
        run_server(settings, stopped)
    typer.echo(f"Stopped. Go on with:\n{same_command()}" if stopped() else "The study is over.")


@app.command()
def status(
    state: State = Path("server"),
    output: Format = "table",
) -> None:
    """Show how far a study is: its rounds, which sites are online, and bytes. The server has no model to show.

    Examples:

    `secure-sapefl server status --state server`

    `secure-sapefl server status --state server --format json`
    """
    from secure_sapefl.coordinator.state import read_status

    found = read_status(state)
    if output == "json":
        typer.echo(json.dumps(found))
        return
    typer.echo(printable(f"Study {found['study']} ({found['digest'][:16]}): {_progress(found)}"))
    print_table("", ("site", "online", "rounds", "last answer", "MB up", "MB down"), map(_cells, found["sites"]))
    typer.echo(_committee(found.get("history", [])), nl=False)
    if found.get("results"):  # 0.1.0 had none
        print_table(_summed(found["results"]), _result_header(found), _result_rows(found))
    warn_of_certificate(found)


def _cells(site: dict[str, Any]) -> tuple[object, ...]:
    return (
        site["site"],
        "yes" if site["online"] else "no",
        site["absorbed"],
        site["answer"] + (f"; rejected {site['rejected']}" if site["rejected"] else ""),
        f"{site['bytes_up'] / 1e6:.2f}",
        f"{site['bytes_down'] / 1e6:.2f}",
    )


def _summed(results: dict[str, Any]) -> str:
    what = "Test results of the common model, with noise" if results.get("noised") else "Test results"
    said = f"{what}, an encrypted sum over {results['sites']} sites, of which {results['agreed']} say the same"
    drowned = any(one["mean"] is None for one in results["results"].values())
    return f"{said}; too few records for the noise" if drowned else said


def _result_header(found: dict[str, Any]) -> tuple[str, str, str]:
    if found["results"].get("noised"):
        return "test result", "over all records", "off by noise"
    return "test result", "mean over sites", "spread"


def _result_rows(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name.replace("_", " "), _three(one["mean"]), _three(one.get("noise") if one["std"] is None else one["std"]))
        for name, one in found["results"]["results"].items()
    ]


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _progress(found: dict[str, Any]) -> str:
    state = "over" if found["finished"] else "running" if found["running"] else "not running"
    waiting = ", ".join(found["waiting_for"])
    more = f", waiting for {waiting}" if waiting else ""
    return (
        f"{found['closed']} of {found['rounds']} rounds closed, {state}{more}{_without_sum(found.get('history', []))}"
    )


def _without_sum(history: list[dict[str, Any]]) -> str:
    """Rounds that ended without a sum, and why, the last one in words."""
    reasons = [left["reason"] for one in history for left in one["left_out"] if left["site"] == "server"]
    return f"; {len(reasons)} without a sum, the last because {reasons[-1]}" if reasons else ""


def _committee(history: list[dict[str, Any]]) -> str:
    """What opening the last sum cost, in a study with joint keys; else nothing."""
    if not history or "committee" not in history[-1]:
        return ""
    last, legs = history[-1], history[-1]["committee"]
    return (
        f"The committee's legs took {legs['seconds']:.1f} of {last['seconds']:.1f} s in the last round: "
        f"{legs['bytes_of_shares'] / 1e3:.0f} kB of shares with {last['sent']} uploads, "
        f"{legs['bytes_down'] / 1e3:.0f} kB to its members, {legs['bytes_up'] / 1e3:.0f} kB from them.\n"
    )


def _tls(folder: Path | None, without: bool) -> "Tls | None":
    from sapefl_crypto.keys.certificates import CertificateFiles
    from secure_sapefl.transport.flower import Tls

    if (folder is None) != without:
        raise BadInput("Say how the line is protected: --tls FOLDER (see `server certificates`), or --without-tls.")
    if folder is None:
        return None
    files = CertificateFiles.under(folder.absolute())
    for path in (files.ca, files.certificate, files.key):
        if not path.is_file():
            raise BadInput(f"{path} is missing; make the folder with `secure-sapefl server certificates`.")
    return Tls(ca=files.ca, certificate=files.certificate, key=files.key)
