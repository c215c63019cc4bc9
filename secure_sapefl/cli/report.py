"""`secure-sapefl report`: a page people can read, from the folders of finished runs."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="The page. [default: RUN/report.html; with several runs, report.html here]"),
    ] = None,
) -> None:
    """Write one self-contained HTML page about one run, or several side by side.

    Differences between runs are taken against the first one given.

    Examples:

    `secure-sapefl report runs/mine`

    `secure-sapefl report runs/local runs/fedavg runs/sapefl --out comparison.html`
    """
    from secure_sapefl.report.run_report import write_page, write_report

    if out is None and len(runs) == 1:
        write_report(runs[0])
        out = runs[0] / "report.html"
    else:
        out = out or Path("report.html")
        write_page(runs, out)
    typer.echo(f"Report: {out}")
