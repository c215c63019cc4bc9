"""A site's report of a study: the page a simulation has, about one site and for its eyes alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import METRICS
from secure_sapefl.report import formats
from secure_sapefl.report.page import render
from secure_sapefl.report.view import Headline, picture
from secure_sapefl.site.evaluation.charts import LABELS, charts_of
from secure_sapefl.site.evaluation.findings import OWN, Findings
from secure_sapefl.site.ledger.export import StudySummary
from secure_sapefl.study.plain_words import exposure
from secure_sapefl.study.terms import StudyTerms

ALONE_TRAINED: Final = (
    "Alone is the study's model trained at this site, on its rows only, as many rounds and epochs as the study has. "
    "Nothing of it left, so it has no noise."
)

_STAYS: Final = {
    "none": "Nothing on this page has left the site.",
    "sum": "Of what is on this page, the own model's last results left once, inside an encrypted sum over sites.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    rows: int
    cells: tuple[str, ...]


def page(found: Findings, terms: StudyTerms, ledger: StudySummary | None) -> str:
    """``ledger`` says what left this site in the study; None where nothing is on record."""
    return render(
        "site.html.j2",
        None,
        title=f"{found.site} in study {terms.file.name}",
        stays=_STAYS[terms.file.metrics],
        headlines=_headlines(found),
        facts=_facts(found, terms, ledger),
        verdict=found.verdict,
        note=ALONE_TRAINED,
        columns=tuple(metric.title for metric in METRICS.values()),
        models=tuple(_model_row(found, name) for name in found.models),
        groups=tuple(Row(name=one.name, rows=one.rows, cells=_cells(one.own)) for one in found.now.groups),
        pictures=tuple(picture(chart, "site") for chart in charts_of(found)),
        rounds=tuple(Row(name=str(one.round_index + 1), rows=one.rows, cells=_cells(one.own)) for one in found.history),
        disclosures=exposure(terms).disclosures(),
    )


def _headlines(found: Findings) -> tuple[Headline, ...]:
    own = found.models[OWN]
    return (
        Headline("Accuracy, own model", formats.percent(own.accuracy.value), _interval(own.accuracy, percent=True)),
        Headline("AUC, own model", formats.decimal(own.found["auc"]), _interval(own.auc, percent=False)),
        Headline(
            "Calibration error",
            formats.decimal(own.found["calibration_error"]),
            "0 is right: of what is said with 80 %, 80 % happen",
        ),
    )


def _facts(found: Findings, terms: StudyTerms, ledger: StudySummary | None) -> tuple[tuple[str, str], ...]:
    file = terms.file
    progress = f"{found.rounds} of {file.rounds} rounds" + (", over" if found.over else "")
    sent = "nothing on record" if ledger is None else f"{ledger.sent} messages, {formats.size(ledger.size)}"
    return (
        ("Study", f"{file.name}, digest {file.digest[:16]}"),
        ("Method", terms.blueprint.algorithm.title),
        ("How far", progress),
        ("Test rows", f"{len(found.y):,}, held back from training"),
        ("What left this site", sent),
        ("Privacy spent, ε", "no budget" if file.privacy is None else "none yet" if ledger is None else ledger.epsilon),
    )


def _model_row(found: Findings, name: str) -> Row:
    model = found.models[name]
    beside = {"accuracy": _interval(model.accuracy, percent=True), "auc": _interval(model.auc, percent=False)}
    cells = (
        f"{cell} ({beside[metric]})" if metric in beside else cell
        for metric, cell in zip(METRICS, _cells(model.found), strict=True)
    )
    return Row(name=LABELS[name], rows=len(found.y), cells=tuple(cells))


def _interval(found: Interval, *, percent: bool) -> str:
    form = formats.percent if percent else formats.decimal
    return "no interval" if found.value != found.value else f"{form(found.low)} to {form(found.high)}"


def _cells(found: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(
        formats.percent(found[name]) if name.endswith("accuracy") else formats.decimal(found[name]) for name in METRICS
    )
