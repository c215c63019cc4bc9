"""What privacy costs: methods × ε × seeds on one dataset, accuracy and AUC against ε, and where the budget goes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from secure_sapefl.algorithms.own import algorithm
from secure_sapefl.algorithms.releases import NotPrivate, NotShared
from secure_sapefl.data import private_options
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.budget_division import division_sheets, shared_sheet
from secure_sapefl.experiments.cells import Cell, CellResult, federation_for
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.experiments.tables import Document, Sheet, amount, is_share, number
from secure_sapefl.report.shown import Shown

OFF: Final = math.inf
"""ε of a run without differential privacy."""


@dataclass(frozen=True, kw_only=True)
class Request:
    setting: Setting
    task: Task
    contenders: tuple[Contender, ...]
    epsilons: tuple[float, ...]
    delta: float

    def cell(self, contender: Contender, epsilon: float, seed: int) -> Cell:
        """Without a budget there is no noise to share: then it is the method as it is."""
        chosen = replace(contender, shared_steps=None) if epsilon == OFF else contender
        return self.setting.cell(self.task_at(epsilon), chosen, seed)

    def task_at(self, epsilon: float) -> Task:
        """Rows are divided and prepared alike at every budget, ∞ included: as a private study does it."""
        privacy = {} if epsilon == OFF else {"dp_epsilon": epsilon, "dp_delta": self.delta}
        prepared = {
            "dp_public": self.setting.base.dp_public or {},
            "data_options": {**private_options(self.task.dataset), **self.setting.base.data_options},
        }
        return Task(dataset=self.task.dataset, changes={**self.task.changes, **prepared, **privacy})

    def check(self) -> None:
        """Find every mistake before the first run."""
        if not self.epsilons:
            raise BadInput("--epsilons names no budget, for instance 0.5,1,2,4,8,inf.")
        if len(set(self.epsilons)) < len(self.epsilons):
            raise BadInput("--epsilons names one more than once.")
        for contender in self.contenders:
            method = algorithm(contender.method)
            if isinstance(method.releases, NotPrivate) and any(epsilon != OFF for epsilon in self.epsilons):
                raise BadInput(f"{method.title} has no differentially private form: {method.releases.reason}")
            for epsilon in self.epsilons:
                self.cell(contender, epsilon, self.setting.base.seed)


@dataclass(frozen=True, kw_only=True)
class Curves:
    request: Request
    results: Mapping[tuple[str, float], tuple[CellResult, ...]]  # by contender and ε, one a seed

    def estimates(self, contender: Contender, epsilon: float) -> tuple[Estimate, Estimate, Estimate]:
        """Accuracy, AUC (or the task's own two), and accuracy of the weakest tenth of the sites."""
        cells = self.results[contender.label, epsilon]
        numbers = ([cell.main for cell in cells], [cell.second for cell in cells], [_weakest(cell) for cell in cells])
        main, second, weakest = (Estimate.over_seeds(one) for one in numbers)
        return main, second, weakest

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What the three are."""
        main, *others = next(iter(self.results.values()))[0].shown
        return (main, *(others or (main,)), main)


def with_shared_noise(contenders: Sequence[Contender], steps: int | None) -> tuple[Contender, ...]:
    """Beside each method that can share its noise the same with shared noise; all as they are without ``steps``."""
    if steps is None:
        return tuple(contenders)
    able = [one for one in contenders if not isinstance(algorithm(one.method).from_common, NotShared)]
    return (*contenders, *(replace(one, shared_steps=steps) for one in able))


def budget_curves(request: Request, runner: Runner) -> Curves:
    cells = {
        (contender.label, epsilon): [request.cell(contender, epsilon, seed) for seed in request.setting.seed_values]
        for contender in request.contenders
        for epsilon in request.epsilons
    }
    found = runner.run((cell for row in cells.values() for cell in row), "budgets")
    results = {key: tuple(found[cell.digest] for cell in row) for key, row in cells.items()}
    return Curves(request=request, results=results)


def _weakest(cell: CellResult) -> tuple[float, ...]:
    """One site at least; a site without test rows is none."""
    known = sorted(value for value in cell.shown[0].oriented(cell.main) if not math.isnan(value))
    return cell.shown[0].oriented(tuple(known[: max(1, len(known) // 10)]))


def document(curves: Curves) -> Document:
    request, (main, second, _) = curves.request, curves.shown
    first = request.contenders[0]
    by_pair = {(request.task.label, f"{name} {epsilon}"): row for (name, epsilon), row in curves.results.items()}
    finite = [epsilon for epsilon in request.epsilons if epsilon != OFF]
    private = request.cell(first, min(finite, default=OFF), request.setting.base.seed)
    sizes = federation_for(private).declared
    division = dict.fromkeys(  # variants of a method may spend alike
        sheet
        for contender in request.contenders
        for sheet in division_sheets([request.cell(contender, e, 0).config for e in finite], sizes)
        if contender.shared_steps is None
    )
    sharing = [one for one in request.contenders if one.shared_steps is not None][:1]  # all share one plan
    plans = [shared_sheet([request.cell(one, e, 0).config for e in finite], sizes) for one in sharing if finite]
    return Document(
        name="budget",
        title=f"{main.heading} and {second.title} against the privacy budget, {request.task.label}",
        setting=(
            *described(request.setting),
            *sources([request.task], by_pair),
            f"δ = {request.delta:g}; ε by RDP, for one record of one site over all its messages of all rounds; ε = ∞ "
            "is the same run without differential privacy",
        ),
        sheets=(
            _sheet(curves, _titled(main), 0),
            _sheet(curves, _titled(second), 1),
            _sheet(curves, _titled(main, " of the weakest tenth of the sites"), 2),
            *division,
            *plans,
        ),
        notes=(
            f"{main.heading} and {second.title} are exact: the simulation's, not released by its sites.",
            "What never leaves a site (Ditto's personal model, Local-only) is trained without noise and costs nothing.",
            *_too_small(sizes, request.setting.base.batch_size),
        ),
        records=tuple(_record(curves, c, epsilon) for c in request.contenders for epsilon in request.epsilons),
        extra={"delta": request.delta, "rows_per_client": list(sizes)},
    )


def _too_small(sizes: Sequence[int], batch_size: int) -> tuple[str, ...]:
    small = sum(size < batch_size for size in sizes)
    if not small:
        return ()
    return (f"{small} of {len(sizes)} sites have fewer rows than a batch of {batch_size} and sit out of private runs.",)


def _titled(shown: Shown, whose: str = "") -> str:
    return f"{shown.heading}{whose}{', %' if is_share(shown) else shown.direction}"


def name_of(epsilon: float) -> str:
    return "∞" if epsilon == OFF else f"{epsilon:g}"


def _sheet(curves: Curves, title: str, which: int) -> Sheet:
    request, shown = curves.request, curves.shown[which]
    return Sheet(
        title=title,
        header=("ε", *(contender.label for contender in request.contenders)),
        rows=tuple(
            (
                name_of(epsilon),
                *(amount(curves.estimates(c, epsilon)[which], shown) for c in request.contenders),
            )
            for epsilon in request.epsilons
        ),
    )


def _record(curves: Curves, contender: Contender, epsilon: float) -> dict[str, Any]:
    (main, second, weakest), shown = curves.estimates(contender, epsilon), curves.shown
    return {
        "dataset": curves.request.task.label,
        "method": contender.label,
        "epsilon": None if epsilon == OFF else epsilon,
        f"{shown[0].name}_mean": number(main.mean),
        f"{shown[0].name}_std": number(main.std),
        f"{shown[1].name}_mean": number(second.mean),
        f"{shown[1].name}_std": number(second.std),
        "weakest_tenth_mean": number(weakest.mean),
    }


def parse_epsilons(text: str) -> tuple[float, ...]:
    """``0.5,1,inf``."""
    try:
        values = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadInput(f"--epsilons {text!r}: expected numbers by commas, for instance 0.5,1,2,4,8,inf.") from None
    if any(math.isnan(value) or value <= 0 for value in values):
        raise BadInput(f"--epsilons {text!r}: every budget is above 0; inf stands for no differential privacy.")
    return tuple(sorted(values))
