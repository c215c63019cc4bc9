"""`secure-sapefl`: registers the commands and turns errors into sentences and exit codes.

Exit codes: 0 the work was done; 1 a fault of ours (please report it); 2 bad usage, bad input, or a fault of code that
the user brought; 3 an audit found a promise broken; 130 interrupted.
"""

import os
import sys
import warnings

import typer

from sapefl_crypto.errors import CryptoError
from secure_sapefl import __version__
from secure_sapefl.cli import (
    ablate,
    audit,
    bench,
    budget,
    check_method,
    compare,
    data,
    export,
    figures,
    keys,
    methods,
    release,
    report,
    robustness,
    server,
    simulate,
    site,
    statistics,
    study,
)
from secure_sapefl.cli.experiment_options import SweepCommand
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.own_code import blamed
from secure_sapefl.plain_text import sentence

app = typer.Typer(
    name="secure-sapefl",
    help="Personalized federated learning with encrypted aggregation (SAPE-FL).",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("simulate")(simulate.simulate)
app.command("compare", cls=SweepCommand)(compare.compare)
app.command("ablate", cls=SweepCommand)(ablate.ablate)
app.command("budget", cls=SweepCommand)(budget.budget)
app.command("figures", cls=SweepCommand)(figures.figures)
app.command("methods")(methods.methods)
app.command("check-method")(check_method.check_method)
app.command("robustness")(robustness.robustness)
app.command("report")(report.report)
app.command("statistics")(statistics.statistics)
app.command("audit")(audit.audit)
app.command("export")(export.export)
app.command("release")(release.release)
app.add_typer(data.app, name="data")
app.add_typer(keys.app, name="keys")
app.add_typer(bench.app, name="bench")
app.add_typer(study.app, name="study")
app.add_typer(site.app, name="site")
app.add_typer(server.app, name="server")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"secure-sapefl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Personalized federated learning with encrypted aggregation (SAPE-FL)."""


_LONGEST_ERROR = 4000  # an error may repeat words out of a file that somebody else made


def _say(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"secure-sapefl: {sentence(message, _LONGEST_ERROR)}", err=True)


def main() -> None:
    warnings.showwarning = _say
    try:
        app()
    except (SapeflError, CryptoError) as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("secure-sapefl: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if (said := blamed(error)) is None:
            raise
        _say(said)
        sys.exit(BadInput.exit_code)
