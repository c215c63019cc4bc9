"""`secure-sapefl audit`: attack a finished run from what each of its parties was handed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.plain_text import printable

if TYPE_CHECKING:
    from secure_sapefl.audit.findings import Findings, Inferences, PartyFindings

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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
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
    with _stages(effort.stages, quiet) as say:
        findings = attack(run, effort, seed, say)
    write_findings(findings, run)
    write_report(run)
    return findings


def conclude(findings: "Findings", run: Path, *, show: bool) -> None:
    """Show a person what was found, and end with a code of its own where a promise was broken."""
    if show:
        _show(findings, run)
    if findings.alarms:
        raise typer.Exit(BROKEN_PROMISE)


@contextmanager
def _stages(total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with what is being done; on a pipe, one line a stage."""
    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn("audit"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as progress:
        task, begun = progress.add_task("starting", total=total), 0

        def say(what: str) -> None:
            nonlocal begun
            progress.update(task, completed=begun, description=what)
            begun += 1
            if not console.is_terminal:
                console.print(f"audit {begun}/{total}  {what}", highlight=False)

        yield say
        progress.update(task, completed=total, description="done")


def _show(findings: "Findings", run: Path) -> None:
    console = Console()
    membership = "membership: AUC, found at 1 % false alarms"
    columns = ("party", membership, "rows rebuilt", "learnt from scores, sizes, times")
    print_table("", columns, [(one.name, _membership(one), _rebuilt(one), _learnt(one)) for one in findings.parties])
    console.print(_epsilon(findings), highlight=False)
    for alarm in findings.alarms:
        console.print(Text("Broken promise: ", style="bold red").append(printable(alarm.sentence), style="default"))
    if not findings.facts["same_numbers_again"]:
        console.print("The second run did not give the first one's numbers: another machine, version or data file.")
    console.print(f"Details: {run / 'audit.json'}, {run / 'report.html'}", highlight=False, soft_wrap=True)


def _membership(party: "PartyFindings") -> list[str]:
    lines = []
    for one in party.memberships:
        best = one.best
        found = best.tpr[0.01]
        at = "too few rows" if found is None else f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
        lines.append(f"{one.kind}: {best.auc.value:.2f} ({best.auc.low:.2f} to {best.auc.high:.2f}), {at}")
    return lines or ["no model in sight"]


def _rebuilt(party: "PartyFindings") -> str:
    one = party.rebuilding
    if one is None:
        return "no update in sight"
    return f"{'some' if one.works else 'none'} of {len(one.errors)}; best error {min(one.errors):.2f}"


def _learnt(party: "PartyFindings") -> list[str]:
    parts = {"scores": party.scores, "sizes": party.sizes, "times": party.times}
    found = [f"{source}: {_properties(inferred)}" for source, inferred in parts.items() if _properties(inferred)]
    return found or ["nothing"]


def _properties(inferred: "Inferences") -> str:
    return "" if isinstance(inferred, str) else ", ".join(one.what for one in inferred if one.works)


def _epsilon(findings: "Findings") -> str:
    bound, claimed = findings.epsilon.lower, findings.epsilon.claimed
    promise = "no budget was promised" if claimed is None else f"the ledgers say at most {claimed:.2f}"
    return (
        f"ε is at least {bound.epsilon:.2f} with 95 % confidence: {bound.right} of {bound.guesses} coins guessed "
        f"right, and {bound.reachable:.2f} is the most that could have shown; {promise}."
    )
