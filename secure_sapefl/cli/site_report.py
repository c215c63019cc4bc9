"""`secure-sapefl site report`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from secure_sapefl.cli.options import Home

if TYPE_CHECKING:
    from secure_sapefl.site.evaluation.alone import Tell


def report(
    study: Annotated[
        Path | None, typer.Option(help="Which study.", metavar="STUDY.toml", show_default="the only one here")
    ] = None,
    home: Home = Path("site"),
    out: Annotated[
        Path | None, typer.Option(help="The page.", show_default="report.html in the study's folder")
    ] = None,
    output: Annotated[Literal["html", "json"], typer.Option("--format", help="A page, or numbers to print.")] = "html",
) -> None:
    """How good this site's model is, for whom, and whether taking part was worth it. For this site's eyes.

    The site's own model, the common one and one that is trained here on this site's rows alone are held against the
    test rows. Training alone takes a while the first time; its model is kept. Nothing leaves the site.

    Examples:

    `secure-sapefl site report`

    `secure-sapefl site report --home site --study study.toml --out report.html`

    `secure-sapefl site report --format json`
    """
    from secure_sapefl.site.evaluation.findings import findings
    from secure_sapefl.site.evaluation.page import page
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.ledger.export import summaries
    from secure_sapefl.site.ledger.files import LedgerFiles
    from secure_sapefl.site.predict import study_with_model
    from secure_sapefl.storage.files import write_private
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.terms import StudyTerms

    site = SiteHome(home)
    chosen = study_with_model(site) if study is None else read_study(study)
    terms = StudyTerms.from_file(chosen)
    with _training_alone() as tell:
        found = findings(site, terms, tell)
    if output == "json":
        typer.echo(json.dumps(found.to_json()))
        return
    entries = LedgerFiles(site.ledger_path).read(site.public).entries
    known = {summary.digest: summary for summary in summaries(entries, {})}
    path = site.study_folder(chosen.digest) / "report.html" if out is None else out
    write_private(path, page(found, terms, known.get(chosen.digest)).encode())
    typer.echo(f"{found.verdict}\nReport: {path}")


@contextmanager
def _training_alone() -> "Iterator[Tell]":
    """A bar on stderr, once there is something to train."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("training alone, to compare", visible=False)
        yield lambda done, of: bar.update(task, completed=done, total=of, visible=True)
