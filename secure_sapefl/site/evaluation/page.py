"""A site's report of a study: the page a simulation has, about one site and for its eyes alone."""

from dataclasses import dataclass
from typing import Final

from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import METRICS
from secure_sapefl.report import formats
from secure_sapefl.report.page import render
from secure_sapefl.report.shown import Shown
from secure_sapefl.report.view import Headline, picture
from secure_sapefl.site.evaluation.charts import LABELS, charts_of
from secure_sapefl.site.evaluation.findings import OWN, Findings
from secure_sapefl.site.evaluation.judged import Measures
from secure_sapefl.site.ledger.export import StudySummary
from secure_sapefl.study.plain_words import exposure
from secure_sapefl.study.terms import StudyTerms

ALONE_TRAINED: Final = (
    "Alone is the study's model trained at this site, on its rows only, as many rounds and epochs as the study has. "
    "Nothing of it left, so it has no noise."
)

CALIBRATION: Final = Shown.from_metric(METRICS["calibration_error"])
_STAYS: Final = {
    "none": "Nothing on this page has left the site.",
    "sum": "Of what is on this page, the own model's last results left once, inside an encrypted sum over sites.",
    "noised": "Of what is on this page, counts behind the common model's last results left once, with noise, inside an "
    "encrypted sum over sites.",
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
        stays=_STAYS["noised" if terms.file.metrics == "sum" and terms.file.privacy else terms.file.metrics],
        headlines=_headlines(found),
        facts=_facts(found, terms, ledger),
        verdict=found.verdict,
        note=ALONE_TRAINED,
        columns=tuple(shown.heading for shown in _shown(found)),
        models=tuple(_model_row(found, name) for name in found.models),
        groups=tuple(Row(name=one.name, rows=one.rows, cells=_cells(found, one.own)) for one in found.now.groups),
        pictures=tuple(picture(chart, "site") for chart in charts_of(found)),
        rounds=tuple(
            Row(name=str(one.round_index + 1), rows=one.rows, cells=_cells(found, one.own)) for one in found.history
        ),
        disclosures=exposure(terms).disclosures(),
    )


def _headlines(found: Findings) -> tuple[Headline, ...]:
    own = found.models[OWN]
    first = (
        Headline(
            f"{shown.heading}, own model", shown.form(own.found[shown.name]), _interval(own.sure[shown.name], shown)
        )
        for shown in _shown(found)
        if shown.name in own.sure
    )
    if CALIBRATION.name not in own.found:
        return tuple(first)
    said = "0 is right: of what is said with 80 %, 80 % happen"
    return (*first, Headline(CALIBRATION.heading, CALIBRATION.form(own.found[CALIBRATION.name]), said))


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
    cells = (
        f"{cell} ({_interval(model.sure[shown.name], shown)})" if shown.name in model.sure else cell
        for shown, cell in zip(_shown(found), _cells(found, model.found), strict=True)
    )
    return Row(name=LABELS[name], rows=len(found.y), cells=tuple(cells))


def _shown(found: Findings) -> tuple[Shown, ...]:
    return tuple(map(Shown.from_metric, found.task.metrics))


def _interval(found: Interval, shown: Shown) -> str:
    return "no interval" if found.value != found.value else f"{shown.form(found.low)} to {shown.form(found.high)}"


def _cells(found: Findings, values: Measures) -> tuple[str, ...]:
    return tuple(shown.form(values[shown.name]) for shown in _shown(found))
