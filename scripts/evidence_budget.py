"""What privacy costs: the studies behind the tables of docs/privacy.md, and those tables. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from evidence_kept import Kept, between_marks, made

SEEDS: Final = 3
_COMMON: Final = "--participation 1 --local-epochs 2 --methods fedavg-ft-plus,ditto,sapefl,local --tune"
_HUNDRED: Final = "--partition dirichlet --clients 100"
_GROUPS: Final = "--dataset synthetic --partition clustered --kappa 5 --data-option flip_y=0"
ARGUMENTS: Final[Mapping[str, str]] = {
    "privacy-heart": f"--dataset heart --model linear {_COMMON} --rounds 10",
    "privacy-har-100": f"--dataset har {_HUNDRED} {_COMMON} --rounds 20",
    "privacy-clustered-40": f"{_GROUPS} --clients 40 --rows 8000 {_COMMON} --rounds 20",
    "privacy-one-group": f"{_GROUPS} --clusters 1 --clients 10 --rows 2000 {_COMMON} --rounds 20",
    "privacy-har-persons": f"--dataset har --partition natural {_COMMON} --rounds 20",
    "privacy-fmnist-100": f"--dataset fmnist --rows 10000 --model linear {_HUNDRED} {_COMMON} --rounds 20",
}
"""Budgets are those of the command, 0.5 to 8 and none; so is the number of steps of shared noise, 100, if none is said.

One group alone is what groups under privacy could be at best: all its sites agree, and nobody paid to find them.
"""

TITLES: Final[Mapping[str, str]] = {
    "privacy-heart": "Heart disease: four hospitals, the linear model",
    "privacy-har-100": "HAR over 100 sites, label skew",
    "privacy-clustered-40": "Four groups that disagree: 40 sites, synthetic",
    "privacy-one-group": "One group alone: ten sites that agree, synthetic",
    "privacy-har-persons": "HAR by person: 30 sites",
    "privacy-fmnist-100": "Fashion-MNIST over 100 sites, label skew, the linear model",
}


def parts() -> tuple[str, ...]:
    """Shared noise first, seed by seed; then each site's own beside it, which takes longest."""
    shared = [f" --dp-noise shared --seeds {count}" for count in range(1, SEEDS + 1)]
    return (*shared, f" --dp-noise both --seeds {SEEDS}")


def tables_of(document: str) -> dict[str, list[str]]:
    """Of a `budget.md`, by title."""
    parts = [part.splitlines() for part in document.split("\n## ")[1:]]
    return {title: [line for line in lines if line.startswith("|")] for title, *lines in parts}


def written(page: str, kept: Mapping[str, Kept]) -> str:
    """The page with its tables renewed."""
    return between_marks(page, [part for name in ARGUMENTS for part in _section(name, kept[name])])


def _section(name: str, kept: Kept) -> Iterator[str]:
    if "finished" not in kept:
        return
    finished = kept["finished"]
    yield f"#### {TITLES[name]}"
    yield (
        f"![{TITLES[name]}. Accuracy and AUC of three methods against ε, a curve for each kind of noise, with "
        f"Local-only and the method without privacy as lines; the tables hold the numbers.](figures/{name}.png)"
    )
    for title, lines in finished["tables"].items():
        if ": noise " not in title:  # how a method divides its budget, which the page says once
            yield f"{title}:"
            yield "\n".join(lines)
    yield made([finished["command"]], [kept])
