"""The setting of an experiment in sentences, so that no number stands without it."""

from collections.abc import Mapping, Sequence
from typing import Final

from secure_sapefl.config import ProtectionName
from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.setting import Setting, Task
from secure_sapefl.experiments.tune import Pair

PROTECTION: Final[Mapping[ProtectionName, str]] = {
    "plaintext": "plaintext: for research speed, the server could read every update and model",
    "ckks": "ckks: updates encrypted, models sealed",
}


def described(setting: Setting, varied: str = "") -> tuple[str, ...]:
    """``varied`` names what the experiment itself changes."""
    base, seeds = setting.base, setting.seed_values
    clients = "all natural groups, or 20 clients" if base.clients is None else f"{base.clients} clients"
    named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    lines = [
        f"{clients}, {base.participation:.0%} of them a round, {base.rounds} rounds, {named}",
        f"{base.local_epochs} local epochs, batches of {base.batch_size}, learning rate {base.lr:g}, "
        f"the {base.model} model",
        PROTECTION[base.protection],
    ]
    if varied != "kappa" and base.partition in (None, "dirichlet"):
        lines.append(f"κ = {base.kappa:g} where clients are drawn from a Dirichlet distribution")
    return tuple(lines)


def sources(tasks: Sequence[Task], results: Mapping[Pair, Sequence[CellResult]]) -> tuple[str, ...]:
    """Which rows, in how many hands."""
    lines = []
    for task in tasks:
        result = next(row[0] for (label, _), row in results.items() if label == task.label)
        lines.append(f"{task.label}: {result.source}; {result.partition} partition, {len(result.accuracy)} clients")
    return tuple(lines)
