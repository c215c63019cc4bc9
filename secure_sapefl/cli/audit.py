"""`secure-sapefl audit`: attack a finished run from what each of its parties was handed."""

import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.progress import step_progress
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.plain_text import printable

if TYPE_CHECKING:
    from secure_sapefl.audit.findings import Findings

BROKEN_PROMISE = 3
_REFERENCES, _CANARIES = 4, 400


def audit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.", show_default=False)],
    references: Annotated[
        int, typer.Option(min=2, help="Reference runs for membership inference; even.")
    ] = _REFERENCES,
    canaries: Annotated[int, typer.Option(min=10, help="Made-up records for the bound on epsilon.")] = _CANARIES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws of the audit.")] = 0,
    output: Format = "table",
    quiet: Quiet = False,
) -> None:
    """Attack a finished run from the view of its server, of a curious peer, of both together, and of the network.

    The run is repeated from its config.toml with its messages recorded; nothing else of it is needed. Membership
    inference, gradient inversion, property inference, and a lower bound on epsilon against the ledgers' upper bound.
    Writes RUN/audit.json and RUN/plots/audit-inversion.png and renews RUN/report.html. Exit code 3 when a promise of
    the system was found broken.

    Examples:

    `secure-sapefl audit runs/mine`

    `secure-sapefl audit runs/mine --references 8 --canaries 1000 --format json > audit.json`
    """
    findings = audited(run, references, canaries, seed, quiet)
    if output == "json":
        typer.echo(json.dumps(findings.to_json()))
    conclude(findings, run, show=output == "table")


def audited(
    run: Path, references: int | None = None, canaries: int | None = None, seed: int = 0, quiet: bool = False
) -> "Findings":
    from secure_sapefl.audit.audit import Effort, write_findings
    from secure_sapefl.audit.audit import audit as attack
    from secure_sapefl.report.run_report import write_report

    effort = Effort(pairs=(references or _REFERENCES) // 2, canaries=canaries or _CANARIES)
    with step_progress(quiet) as (tell, _):
        begun = count(1)
        findings = attack(run, effort, seed, lambda what: tell("audit", next(begun), effort.stages, what))
    write_findings(findings, run)
    write_report(run)
    return findings


def conclude(findings: "Findings", run: Path, *, show: bool) -> None:
    """Show a person what was found, and end with a code of its own where a promise was broken."""
    if show:
        _show(findings, run)
    if findings.alarms:
        raise typer.Exit(BROKEN_PROMISE)


def _show(findings: "Findings", run: Path) -> None:
    """As the run's page has it, which was written from the same file."""
    from secure_sapefl.report.audit_section import read_audit

    found, console = read_audit(run), Console()
    assert found is not None  # `audited` wrote it
    columns = ("party", "membership", "rows rebuilt", "learnt from scores, sizes, times")
    rows = [(one.name, list(one.membership), one.rebuilt, list(one.learnt)) for one in found.parties]
    print_table("", columns, rows)
    console.print(found.epsilon, highlight=False)
    for sentence in found.alarms:
        console.print(Text("Broken promise: ", style="bold red").append(printable(sentence), style="default"))
    if not findings.facts["same_numbers_again"]:
        console.print("The second run did not give the first one's numbers: another machine, version or data file.")
    console.print(f"Details: {run / 'audit.json'}, {run / 'report.html'}", highlight=False, soft_wrap=True)
