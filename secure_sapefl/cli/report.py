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
    model_card: Annotated[
        bool, typer.Option("--model-card", help="A model card in Markdown instead. [default: RUN/model-card.md]")
    ] = False,
) -> None:
    """Write one self-contained HTML page about one run, or several side by side.

    Differences between runs are taken against the first one given.

    Examples:

    `secure-sapefl report runs/mine`

    `secure-sapefl report runs/local runs/fedavg runs/sapefl --out comparison.html`

    `secure-sapefl report runs/mine --model-card`
    """
    from secure_sapefl.errors import BadInput
    from secure_sapefl.report.run_report import write_model_card, write_page, write_report

    if model_card:
        if len(runs) > 1:
            raise BadInput(f"A model card is about one run; {len(runs)} were given. Write one for each.")
        out = out or runs[0] / "model-card.md"
        write_model_card(runs[0], out)
        typer.echo(f"Model card: {out}")
        return
    if out is None and len(runs) == 1:
        write_report(runs[0])
        out = runs[0] / "report.html"
    else:
        out = out or Path("report.html")
        write_page(runs, out)
    typer.echo(f"Report: {out}")
