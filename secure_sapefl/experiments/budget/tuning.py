"""Learning rates for budget curves: every method under every noise tries the same ones, on training rows held back.

A trial holds back a fifth of each site's training rows, whole segments and persons, and is judged on them; test rows
are not looked at. It is made with one seed and at one budget, the middle one of those asked for, and once more without
privacy: a method is not tuned for each budget anew. Under shared noise the rate is that of steps at home, and all
trials share one common model. How long to train at home is tried as well, for nothing of it leaves: as long as in a
round, as long as in all rounds, or five times that. A common model that noise has spoilt is no more than a start, and
one that is good is lost by too many steps. What others are read against, Local-only and methods without privacy, pays
for no epoch either: those try five times as many in each round as well, so that nobody beats a line that had too little
time, and Local-only has no more of it than who trains at home.

Trials read records. What they would cost, were each of them paid for like the run it is a trial of, is computed and
stands beside the curves; the curves' own ε does not contain it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from typing import Final

from secure_sapefl.algorithms.own import configured
from secure_sapefl.experiments.budget.division import terms_of
from secure_sapefl.experiments.budget.request import OFF, Choice, Occasion, Pace, Request, name_of, releases_nothing
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.grids import COARSE_RATES
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender
from secure_sapefl.experiments.statistics import Estimate, mean_of_defined
from secure_sapefl.experiments.tables import NOTHING, Sheet, amount
from secure_sapefl.privacy.accounting import Composition, rdp_epsilon
from secure_sapefl.privacy.shared.setup import counting_terms
from secure_sapefl.report.shown import Shown

RATES: Final = COARSE_RATES
LONGER: Final = 5  # times as many epochs, where they cost no privacy

Trials = Sequence[tuple[Pace, Cell]]


def tuned(request: Request, runner: Runner) -> Request:
    """The request with a learning rate for each contender, private and not."""
    trials = {
        (contender.label, epsilon != OFF): _trials(request, contender, epsilon)
        for contender in request.contenders
        for epsilon in _tuned_at(request)
    }
    results = runner.run((cell for tried in trials.values() for _, cell in tried), "tuning")
    return replace(request, choices={occasion: _best(tried, results) for occasion, tried in trials.items()})


def _tuned_at(request: Request) -> tuple[float, ...]:
    """The middle budget, and none; whichever was asked for."""
    return (*((median_low(request.finite),) if request.finite else ()), *((OFF,) if OFF in request.epsilons else ()))


def _trials(request: Request, contender: Contender, epsilon: float) -> Trials:
    seed = request.setting.base.seed
    return [
        (pace, request.cell(contender, epsilon, seed, "validation", pace))
        for pace in paces(request, contender, epsilon)
    ]


def paces(request: Request, contender: Contender, epsilon: float) -> list[Pace]:
    """The same rates for everybody, and each for a short and for a long time where that costs no privacy."""
    base, epochs = request.setting.base, list[int | None]([None])
    if epsilon == OFF or releases_nothing(contender):
        epochs = [base.local_epochs, base.local_epochs * LONGER]
    elif contender.shared_steps is not None and contender.unit != "site":
        epochs = [base.local_epochs * times for times in (1, base.rounds, base.rounds * LONGER)]
    return [Pace(lr, one) for one in epochs for lr in RATES]


def _best(tried: Trials, results: Mapping[str, CellResult]) -> Choice:
    """Of equally good paces the first; one without a number is none."""

    def oriented(trial: tuple[Pace, Cell]) -> float:
        result = results[trial[1].digest]
        (value,) = result.shown[0].oriented((mean_of_defined(result.main),))
        return -math.inf if math.isnan(value) else value

    pace, cell = max(tried, key=oriented)
    return Choice(pace=pace, validation=mean_of_defined(results[cell.digest].main))


def tuning_sheet(request: Request, shown: Shown, sizes: Sequence[int]) -> Sheet:
    """What was chosen, by which number, and what choosing so would have cost."""
    occasions = _tuned_at(request)
    header = ["method"]
    for epsilon in occasions:
        header += [f"ε = {name_of(epsilon)}: rate", f"{shown.title} on rows held back"]
        header += [] if epsilon == OFF else ["ε, trials paid for"]
    return Sheet(
        title=f"Learning rates, of {', '.join(f'{rate:g}' for rate in RATES)}, by a fifth of the training rows",
        header=tuple(header),
        rows=tuple(
            (one.label, *(text for epsilon in occasions for text in _line(request, one, epsilon, shown, sizes)))
            for one in request.contenders
        ),
    )


def _line(request: Request, contender: Contender, epsilon: float, shown: Shown, sizes: Sequence[int]) -> list[str]:
    choice = request.choices[_occasion(contender, epsilon)]
    found = [str(choice.pace), amount(Estimate(choice.validation, None), shown)]
    return found if epsilon == OFF else [*found, _cost(request, contender, epsilon, sizes)]


def _occasion(contender: Contender, epsilon: float) -> Occasion:
    return contender.label, epsilon != OFF


def _cost(request: Request, contender: Contender, epsilon: float, sizes: Sequence[int]) -> str:
    """ε of the run and of its trials together, for the site of median size: three more runs under a site's own noise,
    one more common model under shared noise."""
    if releases_nothing(contender):
        return NOTHING
    config = request.cell(contender, epsilon, request.setting.base.seed).config
    run: Composition
    if contender.shared_steps is None:
        runs, run = 1 + len(RATES), terms_of(config).planned(median_low(sizes), None)
    else:
        options = configured(config.method, config.options)[1]
        runs, run = 2, counting_terms(config, options, sizes, "").plan.sums()
    return f"{rdp_epsilon([(noise, rate, runs * steps) for noise, rate, steps in run], request.delta):.3g}"
