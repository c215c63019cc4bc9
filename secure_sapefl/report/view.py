"""One run as the page shows it: every number chosen and worded here, none in the template."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from secure_sapefl.intervals import bootstrap_difference, bootstrap_mean
from secure_sapefl.own_code import short
from secure_sapefl.plain_text import printable
from secure_sapefl.protocol.disclosure import SILENT, Disclosure, keys_words, protection_words
from secure_sapefl.report import formats
from secure_sapefl.report.budget import BudgetView, budget_of
from secure_sapefl.report.charts.drawing import Chart, to_svg
from secure_sapefl.report.charts.run import charts_of
from secure_sapefl.report.late import LateView, late_of
from secure_sapefl.report.phases import PhaseRow, phases
from secure_sapefl.report.run import Run
from secure_sapefl.report.shown import Shown


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
    main: float
    second: float | None
    everywhere: float  # the global model, by the main metric
    gain: float  # above 0 where the own model is better
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
    main, second = run.main, run.second
    own, everywhere = main.own(run.last).per_client, main.everywhere(run.last).per_client
    found = [_headline(f"{main.heading}, own models{main.direction}", own, main)]
    if second is not None:
        values = second.own(run.last).per_client
        found.append(_headline(f"{second.heading}, own models{second.direction}", values, second))
    if run.personal_differs:
        gain = bootstrap_difference(main.oriented(own), main.oriented(everywhere))
        said = f"Own against global, {main.unit_of_gain}{'' if main.higher_is_better else ' less'}"
        found += [
            _headline(f"{main.heading}, global model", everywhere, main),
            Headline(said, main.gain_form(gain.mean), formats.interval(gain, main.gain_form)),
        ]
    return tuple(found)


def _headline(name: str, values: tuple[float, ...], shown: Shown) -> Headline:
    mean = bootstrap_mean(values)
    return Headline(name, shown.form(mean.mean), formats.interval(mean, shown.form))


def facts_of(run: Run) -> tuple[tuple[str, str], ...]:
    summary = run.summary
    protection = SILENT if run.silent else protection_words(summary["protection"], run.config.keys)
    return (
        ("Method", run.algorithm.title),
        *((("Task", printable(summary["task"])),) if summary.get("task", "classification") != "classification" else ()),
        ("Data", printable(f"{summary['dataset']}: {summary['source']}")),
        ("Partition", printable(summary["partition"])),
        *((("Preparation", printable(summary["preparation"])),) if summary.get("preparation") else ()),
        ("Sites, rounds, seed", f"{len(run.sites)}, {len(run.rounds)}, {summary['seed']}"),
        *_stopped(run),
        ("Protection", protection),
        *((("Keys", keys_words(run.config.keys, run.config.colluders)),) if run.exposure.encrypted else ()),
        ("Model", printable(f"{short(run.config.model)}, {summary['parameters']:,} parameters")),
        ("Device", printable(summary["device"])),
        ("Versions", printable(", ".join(f"{name} {number}" for name, number in summary["versions"].items()))),
    )


def _stopped(run: Run) -> tuple[tuple[str, str], ...]:
    if "early_stopping" not in run.summary:
        return ()
    return (("Stopped early", f"used: round {run.last.round_index + 1}, the best on training rows held back"),)


def sites_of(run: Run) -> tuple[SiteRow, ...]:
    left_out = Counter(refusal.site for record in run.rounds for refusal in record.refusals)
    own, everywhere = run.main.own(run.last).per_client, run.main.everywhere(run.last).per_client
    second = None if run.second is None else run.second.own(run.last).per_client
    return tuple(
        SiteRow(
            name=name,
            rows=None if run.rows is None else run.rows[c],
            main=own[c],
            second=None if second is None else second[c],
            everywhere=everywhere[c],
            gain=run.main.gain(own[c], everywhere[c]),
            left_out=left_out[run.summary["client_names"][c]],
        )
        for c, name in enumerate(run.sites)
    )
