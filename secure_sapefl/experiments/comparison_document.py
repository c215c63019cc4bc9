"""A comparison as sheets for people and records for programs."""

from collections.abc import Iterable, Mapping
from typing import Any

from secure_sapefl.experiments import paper
from secure_sapefl.experiments.compare import Comparison, Request
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.paper import Metric, published
from secure_sapefl.experiments.setting import Contender, Task
from secure_sapefl.experiments.site_table import NOTE, site_records, site_sheets
from secure_sapefl.experiments.statistics import LEVEL, TEST, Duel, Estimate, Placement
from secure_sapefl.experiments.tables import (
    NOTHING,
    Document,
    Sheet,
    amount,
    is_share,
    moments,
    number,
    p_value,
    percent,
    points,
    with_unit,
)
from secure_sapefl.experiments.tune import Choice, Pair
from secure_sapefl.report.shown import Shown, directions

Tables = Mapping[tuple[str, Shown], Mapping[str, Placement]]  # by task and metric, then by contender


def document(comparison: Comparison) -> Document:
    request = comparison.request
    tables = {
        (task.label, shown): comparison.placements(task, which)
        for task in request.tasks
        for which, shown in enumerate(comparison.shown(task))
    }
    judged = {comparison.shown(task) for task in request.tasks}
    alike = judged.pop() if len(judged) == 1 and len(request.tasks) > 1 else ()  # metrics of several tasks are no table
    sheets = [_overview(request, tables, shown) for shown in alike]
    sheets += [_details(request, tables, task, shown) for task in request.tasks for shown in comparison.shown(task)]
    of_sites = tuple(site_sheets(comparison))
    sheets += of_sites
    if comparison.choices:
        sheets.append(_chosen(comparison.choices, {one.label: comparison.shown(one)[0] for one in request.tasks}))
    return Document(
        name="comparison",
        title="Comparison of methods",
        setting=(*described(request.setting), *_judged(request), *sources(request.tasks, comparison.results)),
        sheets=tuple(sheets),
        notes=(*_notes(request), *((NOTE,) if of_sites else ()), *_about_the_paper(sheets)),
        records=tuple(_records(request, tables)),
        extra={
            "metrics": directions(shown for _, shown in tables),
            "tuned": [_choice_record(pair, choice) for pair, choice in comparison.choices.items()],
            "test": TEST,
            "sites": site_records(comparison),
        },
    )


def _overview(request: Request, tables: Tables, metric: Shown) -> Sheet:
    """Methods × datasets with the rank in brackets, and the mean rank."""
    rows = []
    for contender in request.contenders:
        row = [tables[task.label, metric][contender.label] for task in request.tasks]
        mean_rank = sum(placement.rank for placement in row) / len(row)
        cells = (f"{amount(placement.estimate, metric)} ({placement.rank})" for placement in row)
        rows.append((contender.label, *cells, f"{mean_rank:.1f}"))
    header = ("method", *(task.label for task in request.tasks), "mean rank")
    return Sheet(title=f"All datasets: {with_unit(metric)} (rank)", header=header, rows=tuple(rows))


def _details(request: Request, tables: Tables, task: Task, metric: Shown) -> Sheet:
    """With a column for the paper where it has a number."""
    theirs = [_published(request, metric, task, contender) for contender in request.contenders]
    beside = theirs if any(theirs) else []
    rows = []
    for place, contender in enumerate(request.contenders):
        placement = tables[task.label, metric][contender.label]
        paper_cell = [percent(one) for one in beside[place : place + 1]]
        ours = amount(placement.estimate, metric)
        rows.append((contender.label, *paper_cell, ours, str(placement.rank), *_duel(placement.duel, metric)))
    names = ("paper", "ours") if beside else ("mean",)
    header = ("method", *names, "rank", "against best other", "p (Holm)", "more than noise")
    return Sheet(title=f"{task.label}: {with_unit(metric)}", header=header, rows=tuple(rows))


def _about_the_paper(sheets: Iterable[Sheet]) -> tuple[str, ...]:
    return (paper.PROTOCOL,) if any("paper" in sheet.header for sheet in sheets) else ()


def _duel(duel: Duel | None, metric: Shown) -> tuple[str, str, str]:
    if duel is None:
        return (NOTHING,) * 3
    apart = points(duel.difference) if is_share(metric) else f"{duel.difference:+.3g}"
    against = f"{apart} to {duel.rival}"
    return against, p_value(duel.p_holm), "yes" if duel.beyond_noise else "no"


def _published(request: Request, metric: Shown, task: Task, contender: Contender) -> Estimate | None:
    """The paper's cell, where this is a method and a division of the data the paper has."""
    partition = task.changes.get("partition", request.setting.base.partition)
    if contender.options or partition == "clustered" or metric.name not in ("accuracy", "auc"):
        return None
    name: Metric = "accuracy" if metric.name == "accuracy" else "auc"
    return published(name, task.dataset, contender.method)


def _chosen(choices: Mapping[Pair, Choice], shown: Mapping[str, Shown]) -> Sheet:
    rows, first = [], next(iter(shown.values()))
    for (task, method), choice in choices.items():
        options = ", ".join(f"{key} = {value}" for key, value in choice.trial.options.items()) or NOTHING
        found = amount(Estimate(choice.validation, None), shown[task])
        unit = "" if shown[task] == first else f" ({with_unit(shown[task])})"
        rows.append((task, method, f"{choice.trial.lr:g}", options, f"{found}{unit}", str(choice.tried)))
    header = ("dataset", "method", "learning rate", "option", f"validation {with_unit(first)}", "trials")
    return Sheet(title="Tuned on validation rows", header=header, rows=tuple(rows))


def _choice_record(pair: Pair, choice: Choice) -> dict[str, Any]:
    return {"dataset": pair[0], "method": pair[1], **choice.to_json()}


def _records(request: Request, tables: Tables) -> list[dict[str, Any]]:
    return [
        {"dataset": task.label, "method": contender.label, "metric": metric.name}
        | _placement_record(tables[task.label, metric][contender.label], _published(request, metric, task, contender))
        for task in request.tasks
        for contender in request.contenders
        for label, metric in tables
        if label == task.label
    ]


def _placement_record(placement: Placement, theirs: Estimate | None) -> dict[str, Any]:
    duel = placement.duel
    return {
        **moments("paper_", theirs),
        **moments("", placement.estimate),
        "rank": placement.rank,
        "best_other": duel and duel.rival,
        "difference": duel and number(duel.difference),
        "p": duel and number(duel.p),
        "p_holm": duel and number(duel.p_holm),
        "more_than_noise": duel and duel.beyond_noise,
    }


def _judged(request: Request) -> tuple[str, ...]:
    """Said where it is not what everybody expects."""
    said = "judged on a fifth of the training rows; test rows were not looked at"
    return () if request.judged_on == "test" else (said,)


def _notes(request: Request) -> tuple[str, ...]:
    seeds = request.setting.seeds
    spread = "± is the standard deviation over seeds" if seeds > 1 else "one seed: no standard deviation"
    return (
        f"Mean over sites, unweighted, after the last round; {spread}.",
        f"More than noise: p < {LEVEL} by {TEST}. Pairs of one seed share a run, so p is a little too small.",
    )
