"""`secure-sapefl site predict`."""

import csv
import json
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from secure_sapefl.cli.options import Home
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.decisions import DecisionCurve
    from secure_sapefl.site.evaluation.decision import Asked
    from secure_sapefl.site.predict import Predictions

_CURVE = ("threshold", "net benefit of the model", "of treating everybody", "of treating nobody")


def predict(
    patients: Annotated[
        Path, typer.Argument(help="New records: a table with the study's columns, an .npz, or a folder of images.")
    ],
    study: Annotated[
        Path | None, typer.Option(help="Whose model to use.", metavar="STUDY.toml", show_default="the only one here")
    ] = None,
    home: Home = Path("site"),
    name_column: Annotated[str | None, typer.Option("--id", help="A column with the records' names.")] = None,
    sensitivity: Annotated[
        float | None, typer.Option(help="Decide by a threshold that finds this share of positives, 0.9 for 90 %.")
    ] = None,
    specificity: Annotated[
        float | None, typer.Option(help="Decide by a threshold that calls this share of negatives negative.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The class that is looked for.", show_default="the second of two")
    ] = None,
    curve: Annotated[
        Path | None, typer.Option(help="Write the decision curve on the site's test rows (.csv).", show_default=False)
    ] = None,
    output: Annotated[Literal["csv", "json"], typer.Option("--format", help="How to print it.")] = "csv",
) -> None:
    """Predict new records with this site's own model. Nothing leaves the site; no key is needed.

    A threshold is chosen on the site's training rows; what it does on the test rows is said with it. A record that does
    not fit the study is named, and the others are predicted.

    Examples:

    `secure-sapefl site predict patients.csv`

    `secure-sapefl site predict patients.csv --sensitivity 0.9 --curve curve.csv`

    `secure-sapefl site predict patients.csv --study study.toml --id patient --format json`
    """
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.predict import predict as predict_with
    from secure_sapefl.site.predict import study_with_model
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.terms import StudyTerms

    asked, site = _asked(sensitivity, specificity, positive, curve), SiteHome(home)
    chosen = study_with_model(site) if study is None else read_study(study)
    found = predict_with(site, StudyTerms.from_file(chosen), patients, name_column, asked)
    if output == "json":
        typer.echo(json.dumps(found.to_json()))
    else:
        _write_csv(found)
    if curve is not None and found.decision is not None:
        _write_curve(found.decision.curve, curve)


def _asked(
    sensitivity: float | None, specificity: float | None, positive: str | None, curve: Path | None
) -> "Asked | None":
    from secure_sapefl.decisions import Goal
    from secure_sapefl.site.evaluation.decision import Asked

    if sensitivity is not None and specificity is not None:
        raise BadInput("One threshold has one goal: give --sensitivity or --specificity.")
    goal = None if sensitivity is None else Goal("sensitivity", sensitivity)
    goal = goal if specificity is None else Goal("specificity", specificity)
    if goal is None and curve is None:
        if positive is not None:
            raise BadInput("--positive is for a threshold or a curve: give --sensitivity, --specificity or --curve.")
        return None
    return Asked(goal, positive)


def _write_csv(found: "Predictions") -> None:
    chosen = [] if found.kind == "number" else ["class"]
    rows = (
        (name, *(one for _ in chosen), *(f"{value:.4f}" for value in row))
        for name, one, row in zip(found.names, found.chosen, found.probabilities, strict=True)
    )
    typer.echo(_csv(("record", *chosen, *(f"{found.said} {name}" for name in found.classes)), rows), nl=False)
    said = None if found.decision is None else found.decision.sentence()
    if said is not None:
        typer.echo(said, err=True)
    for name, why in found.bad:
        typer.echo(f"Record {name} has no prediction: {why}.", err=True)


def _write_curve(found: "DecisionCurve | None", path: Path) -> None:
    from secure_sapefl.storage.files import write_whole

    if found is None:
        raise BadInput("This site has no test rows to draw a decision curve of.")
    write_whole(path, _csv(_CURVE, ([f"{value:.6g}" for value in line] for line in found.lines())).encode())
    typer.echo(f"Decision curve: {path}", err=True)


def _csv(header: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
