"""`secure-sapefl site start`."""

from pathlib import Path
from typing import Annotated

import typer

from secure_sapefl.cli.interruption import same_command
from secure_sapefl.cli.options import Home
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase
from secure_sapefl.cli.transport import JsonLogs, MetricsPort, WithoutTls, host_and_port
from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput


def start(
    study: Annotated[Path, typer.Option(help="The study file, as approved.")],
    server: Annotated[str, typer.Option(help="HOST:PORT of the study's server.")],
    home: Home = Path("site"),
    run: Annotated[
        Path | None, typer.Option(help="Folder of socket and relay.", show_default="HOME.run, beside HOME")
    ] = None,
    ca: Annotated[Path | None, typer.Option(help="The authority's ca.pem.", show_default=False)] = None,
    without_tls: WithoutTls = False,
    relay_user: Annotated[
        str | None, typer.Option(help="Run the relay as this user (root only).", show_default=False)
    ] = None,
    resume_after_rejection: Annotated[
        bool, typer.Option("--resume-after-rejection", help="Go on although an aggregate was not what was claimed.")
    ] = False,
    data_changed: Annotated[
        bool, typer.Option("--data-changed", help="Go on although the records are not those of the first start.")
    ] = False,
    device: Annotated[str, typer.Option(help=f"Where to train: {Config.model_fields['device'].description}")] = "auto",
    passphrase_file: PassphraseFile = None,
    metrics_port: MetricsPort = None,
    json_logs: JsonLogs = False,
) -> None:
    """Take part in an approved study until it is over. Started again after a crash, it goes on where it was.

    Started late, it is given what it missed; after the last round it still gets a model of its own, and sends nothing.

    Examples:

    `secure-sapefl site start --study study.toml --server study.example.org:9092 --ca ca.pem`

    `secure-sapefl site start --study study.toml --server 127.0.0.1:9092 --without-tls --json-logs --device cpu`
    """
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.runner import SiteSettings, run_site
    from secure_sapefl.site.status import read_site_status
    from secure_sapefl.study.file import read_study
    from secure_sapefl.transport.flower import Tls
    from secure_sapefl.transport.logs import log_to_terminal
    from secure_sapefl.transport.metrics import SITE_GAUGES, metrics_on
    from secure_sapefl.transport.stopping import asked_to_stop

    host_and_port(server)
    if (ca is None) != without_tls:
        raise BadInput("Say how the line is protected: --ca FILE, the server's authority, or --without-tls.")
    file, words = read_study(study), known_passphrase(SiteHome(home).identity_path, passphrase_file)
    settings = SiteSettings(
        study=study,
        home=home,
        server=server,
        run=home.absolute().with_name(home.name + ".run") if run is None else run.absolute(),
        tls=None if ca is None else Tls(ca=ca.absolute()),
        relay_user=relay_user,
        resume_after_rejection=resume_after_rejection,
        data_changed=data_changed,
        device=Config.read({"device": device}, "the command line").device,
    )
    with log_to_terminal(json_lines=json_logs), asked_to_stop() as stopped:
        status = SiteHome(home).study_folder(file.digest) / "status.json"
        with metrics_on(metrics_port, lambda: read_site_status(status), SITE_GAUGES):
            typer.echo(f"Site {SiteHome(home).name!r} in study {file.name!r} ({file.digest[:16]}), server {server}")
            run_site(settings, words, stopped)
    typer.echo(f"Stopped. Go on with:\n{same_command()}" if stopped() else "The study is over.")
