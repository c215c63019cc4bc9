"""The paper's three ablations of SAPE-FL: influence δ, heterogeneity κ, similarity threshold S_min."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.experiments import paper
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.paper import Ablation, ablation_values, published_ablation
from secure_sapefl.experiments.plots import value_lines
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.statistics import Estimate, ranks
from secure_sapefl.experiments.tables import Document, Sheet, moments, percent
from secure_sapefl.report.charts.drawing import Chart

METHOD: Final = "sapefl"
SYMBOLS: Final[Mapping[Ablation, str]] = {"influence": "influence δ", "kappa": "κ", "threshold": "threshold S_min"}
TITLES: Final[Mapping[Ablation, str]] = {
    "influence": "SAPE-FL: output (δ = 1) against weight (δ = 0) similarity",
    "kappa": "SAPE-FL: skew of the labels (small κ is skewed)",
    "threshold": "SAPE-FL: how similar a peer has to be",
}


@dataclass(frozen=True, kw_only=True)
class AblationResult:
    name: Ablation
    setting: Setting
    tasks: tuple[Task, ...]
    results: Mapping[tuple[str, float], tuple[CellResult, ...]]  # by task label and varied value, one a seed

    @property
    def values(self) -> tuple[float, ...]:
        return ablation_values(self.name)

    def ours(self, task: Task, value: float) -> tuple[Estimate, Estimate]:
        """Accuracy and AUC."""
        cells = self.results[task.label, value]
        return Estimate.over_seeds([cell.main for cell in cells]), Estimate.over_seeds([cell.second for cell in cells])


def ablate(name: Ablation, setting: Setting, tasks: tuple[Task, ...], runner: Runner) -> AblationResult:
    cells = {
        (task.label, value): [_cell(name, setting, task, value, seed) for seed in setting.seed_values]
        for task in tasks
        for value in ablation_values(name)
    }
    found = runner.run((cell for row in cells.values() for cell in row), f"varying {name}")
    results = {key: tuple(found[cell.digest] for cell in row) for key, row in cells.items()}
    return AblationResult(name=name, setting=setting, tasks=tasks, results=results)


def _cell(name: Ablation, setting: Setting, task: Task, value: float, seed: int) -> Cell:
    match name:
        case "influence":
            return setting.cell(task, Contender(method=METHOD, options={"influence": value}), seed)
        case "threshold":
            return setting.cell(task, Contender(method=METHOD, options={"similarity_threshold": value}), seed)
        case "kappa":
            varied = Task(dataset=task.dataset, changes={**task.changes, "kappa": value})
            return setting.cell(varied, Contender(method=METHOD), seed)


def document(ablation: AblationResult) -> Document:
    by_pair = {(task, str(value)): row for (task, value), row in ablation.results.items()}
    return Document(
        name=f"ablation-{ablation.name}",
        title=TITLES[ablation.name],
        setting=(*described(ablation.setting, ablation.name), *sources(ablation.tasks, by_pair)),
        sheets=tuple(_sheet(ablation, task) for task in ablation.tasks),
        notes=(f"Rank 1 is the best value of {SYMBOLS[ablation.name]} on that dataset.", paper.PROTOCOL),
        records=tuple(_record(ablation, task, value) for task in ablation.tasks for value in ablation.values),
        extra={"varied": ablation.name},
    )


def _sheet(ablation: AblationResult, task: Task) -> Sheet:
    ours = [ablation.ours(task, value) for value in ablation.values]
    places = ranks([accuracy.mean for accuracy, _ in ours])
    rows = tuple(
        (f"{value:g}", percent(_published(ablation, task, value)), percent(accuracy), str(place), percent(auc))
        for value, (accuracy, auc), place in zip(ablation.values, ours, places, strict=True)
    )
    header = (SYMBOLS[ablation.name], "accuracy: paper", "ours", "rank", "AUC: ours")
    return Sheet(title=f"{task.label}, %", header=header, rows=rows)


def _record(ablation: AblationResult, task: Task, value: float) -> dict[str, Any]:
    accuracy, auc = ablation.ours(task, value)
    paper = moments("paper_", _published(ablation, task, value))
    ours = moments("accuracy_", accuracy) | moments("auc_", auc)
    return {"dataset": task.label, ablation.name: value, **paper, **ours}


def _published(ablation: AblationResult, task: Task, value: float) -> Estimate | None:
    return published_ablation(ablation.name, task.dataset, value)


def chart(ablation: AblationResult) -> Chart:
    panels = {}
    for task in ablation.tasks:
        theirs = {value: _published(ablation, task, value) for value in ablation.values}
        panels[task.label] = {
            "ours": {value: ablation.ours(task, value)[0] for value in ablation.values},
            "paper": {value: estimate for value, estimate in theirs.items() if estimate is not None},
        }
    return value_lines(f"ablation-{ablation.name}", TITLES[ablation.name], SYMBOLS[ablation.name], panels)
