"""The setting of an experiment in sentences, so that no number stands without it."""

from collections.abc import Mapping, Sequence

from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.setting import Setting, Task
from secure_sapefl.experiments.tune import Pair
from secure_sapefl.protocol.disclosure import protection_words


def described(setting: Setting, varied: str = "") -> tuple[str, ...]:
    """``varied`` names the field of the configuration that the experiment itself changes."""
    base, seeds = setting.base, setting.seed_values
    named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    skew = [] if varied == "kappa" else [f"κ = {base.kappa:g} where rows are divided by a Dirichlet distribution"]
    paid = [] if base.dp_epsilon is None else [f"every run is private: ε = {base.dp_epsilon:g}, δ = {base.dp_delta:g}"]
    training = f"{base.local_epochs} local epochs, batches of {base.batch_size}, learning rate {base.lr:g}"
    return (
        f"{base.rounds} rounds, {base.participation:.0%} of the sites in each, {named}",
        f"{training}, the {base.model} model",
        *skew,
        *paid,
        protection_words(base.protection, base.keys),
    )


def sources(tasks: Sequence[Task], results: Mapping[Pair, Sequence[CellResult]]) -> tuple[str, ...]:
    """Which rows, in how many hands."""
    of_task = {label: row[0] for (label, _), row in results.items()}
    return tuple(_source(task, of_task[task.label]) for task in tasks)


def _source(task: Task, result: CellResult) -> str:
    clusters = {name.rpartition("-cluster-")[2] for name in result.client_names}
    division = f", {len(clusters)} clusters" if result.partition == "clustered" else ""
    return f"{task.label}: {result.source}; {len(result.main)} sites, {result.partition} partition{division}"
