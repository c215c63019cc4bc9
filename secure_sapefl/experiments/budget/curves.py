"""What privacy costs: methods × ε × seeds on one dataset, accuracy and AUC against ε, and where the budget goes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secure_sapefl.experiments.budget.division import division_sheets, shared_sheet
from secure_sapefl.experiments.budget.request import OFF, Request, name_of, releases_nothing
from secure_sapefl.experiments.budget.tuning import tuning_sheet
from secure_sapefl.experiments.cells import CellResult, federation_for
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.experiments.tables import Document, Sheet, amount, is_share, number
from secure_sapefl.report.shown import Shown, directions


@dataclass(frozen=True, kw_only=True)
class Curves:
    request: Request
    results: Mapping[tuple[str, float], tuple[CellResult, ...]]  # by contender and ε, one a seed

    @property
    def shown(self) -> tuple[Shown, ...]:
        """Accuracy and AUC, or what the task has in their place: one metric or two."""
        return next(iter(self.results.values()))[0].shown

    @property
    def headed(self) -> str:
        first, *others = self.shown
        return " and ".join((first.heading, *(one.title for one in others)))

    def estimates(self, contender: Contender, epsilon: float) -> tuple[Estimate, ...]:
        """Of each that is shown."""
        cells = self.results[contender.label, epsilon]
        numbers = ([cell.main for cell in cells], [cell.second for cell in cells])[: len(self.shown)]
        return tuple(Estimate.over_seeds(one) for one in numbers)

    def weakest(self, contender: Contender, epsilon: float) -> Estimate:
        """The main metric of the weakest tenth of the sites."""
        return Estimate.over_seeds([_weakest(cell) for cell in self.results[contender.label, epsilon]])

    def gains(self, contender: Contender, epsilon: float, alone: Contender) -> Estimate:
        """Of the main metric, site by site, over one that releases nothing; above 0 is better."""
        pairs = zip(self.results[contender.label, epsilon], self.results[alone.label, epsilon], strict=True)
        gain = self.shown[0].gain
        return Estimate.over_seeds([[*map(gain, own.main, other.main)] for own, other in pairs])


def budget_curves(request: Request, runner: Runner) -> Curves:
    cells = {
        (contender.label, epsilon): [request.cell(contender, epsilon, seed) for seed in request.setting.seed_values]
        for contender in request.contenders
        for epsilon in request.epsilons
    }
    found = runner.run((cell for one_seed in zip(*cells.values(), strict=True) for cell in one_seed), "budgets")
    results = {key: tuple(found[cell.digest] for cell in row) for key, row in cells.items()}
    return Curves(request=request, results=results)


def _weakest(cell: CellResult) -> tuple[float, ...]:
    """One site at least; a site without test rows is none."""
    known = sorted(value for value in cell.shown[0].oriented(cell.main) if not math.isnan(value))
    return cell.shown[0].oriented(tuple(known[: max(1, len(known) // 10)]))


def document(curves: Curves) -> Document:
    request, main = curves.request, curves.shown[0]
    by_pair = {(request.task.label, f"{name} {epsilon}"): row for (name, epsilon), row in curves.results.items()}
    finite, seed = request.finite, request.setting.base.seed
    federation = federation_for(request.cell(request.contenders[0], OFF, seed))
    sizes, units = federation.declared, federation.declared_units(request.unit)
    division = dict.fromkeys(  # variants of a method may spend alike
        sheet
        for contender in request.contenders
        if contender.shared_steps is None and not releases_nothing(contender)
        for sheet in division_sheets([request.cell(contender, e, seed).config for e in finite], sizes)
    )
    sharing = [one for one in request.contenders if one.shared_steps is not None][:1]  # all share one plan
    plans = [shared_sheet([request.cell(one, e, seed).config for e in finite], units) for one in sharing if finite]
    rates = [tuning_sheet(request, main, units)] if request.choices else []
    return Document(
        name="budget",
        title=f"{curves.headed} against the privacy budget, {request.task.label}",
        setting=(
            *described(request.setting),
            *sources([request.task], by_pair),
            f"δ = {request.delta:g}; ε by RDP, for one {request.unit} over all messages of all rounds; ε = ∞ is the "
            "same run without differential privacy",
        ),
        sheets=(
            *(_sheet(curves, one, lambda *at, i=i: curves.estimates(*at)[i]) for i, one in enumerate(curves.shown)),
            _sheet(curves, main, curves.weakest, " of the weakest tenth of the sites"),
            *_gain_sheets(curves),
            *rates,
            *division,
            *plans,
        ),
        notes=(
            f"{curves.headed}: exact, the simulation's, not released by its sites.",
            "What never leaves a site (Ditto's personal model, Local-only) is trained without noise and costs nothing.",
            *_choosing(request),
            *_too_small(request, sizes),
        ),
        records=tuple(_record(curves, c, epsilon) for c in request.contenders for epsilon in request.epsilons),
        extra={"metrics": directions(curves.shown), "delta": request.delta, "rows_per_client": list(sizes)},
    )


def _choosing(request: Request) -> tuple[str, ...]:
    if not request.choices:
        return ()
    return ("Learning rates were chosen by looking at training records, which the ε of the curves does not cover.",)


def _too_small(request: Request, sizes: Sequence[int]) -> tuple[str, ...]:
    """Under shared noise a small site brings its noise like any other."""
    own = any(one.shared_steps is None and not releases_nothing(one) for one in request.contenders)
    batch_size = request.setting.base.batch_size
    small = sum(size < batch_size for size in sizes)
    if not (small and own):
        return ()
    return (f"{small} of {len(sizes)} sites have fewer rows than a batch of {batch_size} and sit out of private runs.",)


def _sheet(curves: Curves, shown: Shown, found: Callable[[Contender, float], Estimate], whose: str = "") -> Sheet:
    request = curves.request
    return Sheet(
        title=f"{shown.heading}{whose}{', %' if is_share(shown) else shown.direction}",
        header=("ε", *(contender.label for contender in request.contenders)),
        rows=tuple(
            (name_of(epsilon), *(amount(found(contender, epsilon), shown) for contender in request.contenders))
            for epsilon in request.epsilons
        ),
    )


def _gain_sheets(curves: Curves) -> list[Sheet]:
    """What private collaboration is worth to a site that could train alone; nothing where nobody does."""
    main, contenders = curves.shown[0], curves.request.contenders
    others = [one for one in contenders if not releases_nothing(one)]
    return [
        Sheet(
            title=f"{main.heading} above {alone.label}, {main.unit_of_gain}",
            header=("ε", *(one.label for one in others)),
            rows=tuple(
                (name_of(epsilon), *(_gain(main, curves.gains(one, epsilon, alone)) for one in others))
                for epsilon in curves.request.epsilons
            ),
        )
        for alone in contenders
        if releases_nothing(alone) and others
    ]


def _gain(main: Shown, found: Estimate) -> str:
    return amount(found, main) if found.mean < 0 else f"+{amount(found, main)}"


def _record(curves: Curves, contender: Contender, epsilon: float) -> dict[str, Any]:
    found = dict(zip(curves.shown, curves.estimates(contender, epsilon), strict=True))
    numbers = {f"{one.name}_{part}": number(getattr(found[one], part)) for one in found for part in ("mean", "std")}
    return {
        "dataset": curves.request.task.label,
        "method": contender.label,
        "epsilon": None if epsilon == OFF else epsilon,
        **numbers,
        "weakest_tenth_mean": number(curves.weakest(contender, epsilon).mean),
    }
