"""Methods × datasets × seeds: who is best where, by how much, and whether that is more than noise."""

from collections.abc import Mapping
from dataclasses import dataclass

from secure_sapefl.experiments.cells import CellResult, JudgedOn
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.statistics import Placement, placements
from secure_sapefl.experiments.tune import Choice, Pair, tune
from secure_sapefl.report.shown import Shown


@dataclass(frozen=True, kw_only=True)
class Request:
    setting: Setting
    tasks: tuple[Task, ...]
    contenders: tuple[Contender, ...]
    tuning_rounds: int | None = None  # None: nothing is tuned
    judged_on: JudgedOn = "test"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    request: Request
    results: Mapping[Pair, tuple[CellResult, ...]]  # by labels of task and contender, one a seed
    choices: Mapping[Pair, Choice]

    def shown(self, task: Task) -> tuple[Shown, ...]:
        """What methods are judged by on this dataset, the main metric first."""
        return self.results[task.label, self.request.contenders[0].label][0].shown

    def numbers(self, task: Task, contender: Contender, which: int) -> list[tuple[float, ...]]:
        """Of every site, a seed each; ``which`` counts the metrics shown."""
        return [(result.main, result.second)[which] for result in self.results[task.label, contender.label]]

    def placements(self, task: Task, which: int) -> dict[str, Placement]:
        return placements(
            {contender.label: self.numbers(task, contender, which) for contender in self.request.contenders},
            higher_is_better=self.shown(task)[which].higher_is_better,
        )


def compare(request: Request, runner: Runner) -> Comparison:
    setting, tasks, contenders = request.setting, request.tasks, request.contenders
    choices: Mapping[Pair, Choice] = {}
    if request.tuning_rounds is not None:
        choices = tune(setting, tasks, contenders, request.tuning_rounds, runner)
    cells = {
        (task.label, contender.label): [
            setting.cell(task, _tuned(contender, choices.get((task.label, contender.label))), seed, request.judged_on)
            for seed in setting.seed_values
        ]
        for task in tasks
        for contender in contenders
    }
    results = runner.run((cell for row in cells.values() for cell in row), "comparing")
    found = {pair: tuple(results[cell.digest] for cell in row) for pair, row in cells.items()}
    return Comparison(request=request, results=found, choices=choices)


def _tuned(contender: Contender, choice: Choice | None) -> Contender:
    return contender if choice is None else contender.with_settings(choice.trial.lr, choice.trial.options)
