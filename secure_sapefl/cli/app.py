"""`secure-sapefl`: registers the commands and turns errors into sentences and exit codes.

Exit codes: 0 the work was done; 1 a fault of ours (please report it); 2 bad usage, bad input, or a fault of code that
the user brought; 3 an audit found a promise broken; 130 interrupted.
"""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Final

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
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS: Final[Mapping[str, Mapping[str, Callable[..., None]]]] = {
    "Begin here": {
        "simulate": simulate.simulate,
        "compare": compare.compare,
        "report": report.report,
        "methods": methods.methods,
    },
    "Models": {"export": export.export, "release": release.release},
    "Experiments": {
        "budget": budget.budget,
        "ablate": ablate.ablate,
        "figures": figures.figures,
        "robustness": robustness.robustness,
        "audit": audit.audit,
        "statistics": statistics.statistics,
        "check-method": check_method.check_method,
    },
}
_SWEEPS: Final = ("compare", "budget", "ablate", "figures")
_GROUPS: Final = {"Begin here": [data], "Experiments": [bench], "Between real sites": [keys, study, site, server]}

for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, cls=SweepCommand if _name in _SWEEPS else None, rich_help_panel=_panel)(_command)
for _panel, _modules in _GROUPS.items():
    for _module in _modules:
        app.add_typer(_module.app, name=_module.__name__.rpartition(".")[2], rich_help_panel=_panel)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"secure-sapefl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Personalized federated learning with encrypted aggregation (SAPE-FL).

    `secure-sapefl simulate` runs a small study with all sites on this machine. `COMMAND --help` has examples.
    """


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
    except (Exception, SystemExit) as error:
        if (said := blamed(error)) is None:
            raise
        _say(said)
        sys.exit(BadInput.exit_code)
