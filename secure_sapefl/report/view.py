"""One run as the page shows it: every number chosen and worded here, none in the template."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from secure_sapefl.intervals import bootstrap_difference, bootstrap_mean
from secure_sapefl.plain_text import printable
from secure_sapefl.protocol.disclosure import SILENT, Disclosure, keys_words, protection_words
from secure_sapefl.report import formats
from secure_sapefl.report.budget import BudgetView, budget_of
from secure_sapefl.report.charts.drawing import Chart, to_svg
from secure_sapefl.report.charts.run import charts_of
from secure_sapefl.report.late import LateView, late_of
from secure_sapefl.report.phases import PhaseRow, phases
from secure_sapefl.report.run import Run


@dataclass(frozen=True, slots=True)
class Picture:
    chart: Chart
    svg: Markup


@dataclass(frozen=True, slots=True)
class Headline:
    name: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRow:
    name: str
    rows: int | None
    accuracy: float
    auc: float
    global_accuracy: float
    gain: float
    left_out: int

    @property
    def verdict(self) -> str:
        return "same" if self.gain == 0 else "gained" if self.gain > 0 else "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    run: Run
    anchor: str
    pictures: Mapping[str, Picture]
    headlines: tuple[Headline, ...]
    facts: tuple[tuple[str, str], ...]
    sites: tuple[SiteRow, ...]
    disclosures: tuple[Disclosure, ...]
    phases: tuple[PhaseRow, ...]
    budget: BudgetView | None
    late: LateView | None


def view_of(run: Run, anchor: str) -> RunView:
    return RunView(
        run=run,
        anchor=anchor,
        pictures={chart.name: picture(chart, anchor) for chart in charts_of(run)},
        headlines=headlines_of(run),
        facts=facts_of(run),
        sites=sites_of(run),
        disclosures=run.exposure.disclosures(),
        phases=phases(run),
        budget=budget_of(run),
        late=late_of(run),
    )


def picture(chart: Chart, anchor: str) -> Picture:
    """Safe to insert as it is: the drawing was parsed and written again as XML, names and all."""
    return Picture(chart, Markup(to_svg(chart, f"{anchor}-{chart.name}")))  # noqa: S704 - see above


def headlines_of(run: Run) -> tuple[Headline, ...]:
    own, everywhere = run.last.personal, run.last.everywhere
    accuracy, auc = bootstrap_mean(own.accuracy.per_client), bootstrap_mean(own.auc.per_client)
    found = [
        Headline("Accuracy, own models", formats.percent(accuracy.mean), formats.interval(accuracy, formats.percent)),
        Headline("AUC, own models", formats.decimal(auc.mean), formats.interval(auc, formats.decimal)),
    ]
    if run.personal_differs:
        shared = bootstrap_mean(everywhere.accuracy.per_client)
        gain = bootstrap_difference(own.accuracy.per_client, everywhere.accuracy.per_client)
        found += [
            Headline("Accuracy, global model", formats.percent(shared.mean), formats.interval(shared, formats.percent)),
            Headline("Own against global, points", formats.points(gain.mean), formats.interval(gain, formats.points)),
        ]
    return tuple(found)


def facts_of(run: Run) -> tuple[tuple[str, str], ...]:
    summary = run.summary
    protection = SILENT if run.silent else protection_words(summary["protection"], run.config.keys)
    return (
        ("Method", run.algorithm.title),
        ("Data", printable(f"{summary['dataset']}: {summary['source']}")),
        ("Partition", printable(summary["partition"])),
        *((("Preparation", printable(summary["preparation"])),) if summary.get("preparation") else ()),
        ("Sites, rounds, seed", f"{len(run.sites)}, {len(run.rounds)}, {summary['seed']}"),
        ("Protection", protection),
        *((("Keys", keys_words(run.config.keys, run.config.colluders)),) if run.exposure.encrypted else ()),
        ("Model", f"{summary['parameters']:,} parameters"),
        ("Device", printable(summary["device"])),
        ("Versions", printable(", ".join(f"{name} {number}" for name, number in summary["versions"].items()))),
    )


def sites_of(run: Run) -> tuple[SiteRow, ...]:
    left_out = Counter(refusal.site for record in run.rounds for refusal in record.refusals)
    own, everywhere = run.last.personal, run.last.everywhere.accuracy.per_client
    return tuple(
        SiteRow(
            name=name,
            rows=None if run.rows is None else run.rows[c],
            accuracy=own.accuracy.per_client[c],
            auc=own.auc.per_client[c],
            global_accuracy=everywhere[c],
            gain=own.accuracy.per_client[c] - everywhere[c],
            left_out=left_out[run.summary["client_names"][c]],
        )
        for c, name in enumerate(run.sites)
    )
