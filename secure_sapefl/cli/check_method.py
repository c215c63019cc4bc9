"""`secure-sapefl check-method`: whether a method is one, and what it lacks."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.conformance.suite import Verdict


def check_method(
    method: Annotated[
        str,
        typer.Argument(metavar="FILE.py", help="A file with an ALGORITHM, or a method's name.", show_default=False),
    ],
    output: Format = "table",
) -> None:
    """Run the checks that our own methods pass on a method of yours, and say what fails and what is missing.

    A method may lack a private form: studies without a privacy budget can use it all the same.

    Example: `secure-sapefl check-method mine.py`
    """
    from secure_sapefl.conformance.suite import conformity

    verdicts = list(conformity(method))
    if output == "json":
        typer.echo(json.dumps([verdict.to_json() for verdict in verdicts]))
    else:
        rows = [(one.check, one.status, list(one.found) or one.asks) for one in verdicts]
        print_table(method, ("check", "", "what it asks for, or what was found"), rows, lines=True)
    _conclude(method, verdicts)


def _conclude(method: str, verdicts: "list[Verdict]") -> None:
    failed = [verdict.check for verdict in verdicts if verdict.status == "fails"]
    if failed:
        raise BadInput(f"{method} fails {len(failed)} of {len(verdicts)} checks: {', '.join(failed)}.")
