"""Property inference: do the numbers a site sends in the clear tell what its rows are like?

A site's history of scores is described by four numbers (mean, spread, first, last), and a ridge regression predicts a
property of the site from them, each site by a fit to all the others (leave one out). R^2 below zero is worse than
guessing the mean. How often a relabelling of the sites does as well is the p-value; several properties are asked
about, so the p-values are adjusted (Holm 1979).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from secure_sapefl.data import Federation
from secure_sapefl.intervals import holm
from secure_sapefl.metrics import Array, Floats
from secure_sapefl.protocol.messages import SiteId

PERMUTATIONS: Final = 2000
LEAST_SITES: Final = 8
_RIDGE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What is said of one property from one kind of history."""

    what: str
    r_squared: float
    correlation: float | None  # of ranks with the mean of the history; None for a property of several numbers
    p_value: float  # adjusted

    def to_json(self) -> dict[str, Any]:
        return {
            "property": self.what,
            "r_squared": self.r_squared,
            "rank_correlation": self.correlation,
            "p_value": self.p_value,
        }


def properties_of(federation: Federation, sites: tuple[SiteId, ...]) -> dict[str, Floats]:
    """By name, a row a site: what an attacker would like to know of the training rows, [S, q]."""
    by_name = {client.name: client.train.y for client in federation.clients}
    labels = [by_name[site] for site in sites]
    rows = np.array([[len(y)] for y in labels], dtype=np.float64)
    return {**_of_labels(labels, federation), "training rows": rows}


def _of_labels(labels: list[Array], federation: Federation) -> dict[str, Floats]:
    if federation.labels.kind == "number":
        return {
            "mean of the label": np.stack([y.mean(0, dtype=np.float64) for y in labels]),
            "spread of the label": np.stack([y.std(0, dtype=np.float64) for y in labels]),
        }
    if federation.labels.kind == "yes-no":  # the share of yes of each label; they do not add up to 1
        shares = np.stack([y.mean(0, dtype=np.float64) for y in labels])
        return {"label mix": shares, "distance from the average label mix": _from_average(shares)}
    counts = np.stack([np.bincount(y, minlength=federation.classes) for y in labels])
    shares = counts / counts.sum(1, keepdims=True)
    return {
        "label mix": shares,
        "label entropy": -(shares * np.log(np.where(shares > 0, shares, 1))).sum(1, keepdims=True),
        "share of the commonest label": shares.max(1, keepdims=True),
        "distance from the average label mix": _from_average(shares),
    }


def _from_average(shares: Floats) -> Floats:
    return np.asarray(np.abs(shares - shares.mean(0)).sum(1, keepdims=True) / 2)


def infer_properties(
    histories: Mapping[SiteId, Mapping[int, float]], federation: Federation, rng: np.random.Generator
) -> tuple[Inference, ...] | str:
    """An answer for every property, or the sentence that says why there is none."""
    sites = tuple(site for site, history in histories.items() if history)
    if len(sites) < LEAST_SITES:
        return f"{len(sites)} sites are too few to fit anything to; {LEAST_SITES} are needed."
    features = np.stack([_described(histories[site]) for site in sites])
    if np.ptp(features, axis=0).max() == 0:
        return "Every site sent the same numbers: there is nothing to infer from."
    asked = properties_of(federation, sites)
    order = [rng.permutation(len(sites)) for _ in range(PERMUTATIONS)]
    fits = {what: _fit(features, values, order) for what, values in asked.items() if np.ptp(values) > 0}
    adjusted = holm([p for _, p in fits.values()])
    return tuple(
        Inference(
            what=what,
            r_squared=r_squared,
            correlation=_rank_correlation(features[:, 0], asked[what]),
            p_value=p_value,
        )
        for (what, (r_squared, _)), p_value in zip(fits.items(), adjusted, strict=True)
    )


def _described(history: Mapping[int, float]) -> Floats:
    values = np.array([history[at] for at in sorted(history)])
    return np.array([values.mean(), values.std(), values[0], values[-1]])


def _fit(features: Floats, values: Floats, order: list[Any]) -> tuple[float, float]:
    """R^2 of leave-one-out predictions, and how often shuffled values are predicted as well."""
    spread = features.std(0)
    design = np.column_stack([np.ones(len(features)), (features - features.mean(0)) / np.where(spread > 0, spread, 1)])
    penalty = np.diag([0.0, *[_RIDGE] * features.shape[1]])
    hat = design @ np.linalg.solve(design.T @ design + penalty, design.T)
    keep = (1 - np.diag(hat))[:, None, None]
    shuffled = np.stack([values, *(values[one] for one in order)], axis=2)  # [S, q, 1 + permutations]
    missed = (((shuffled - np.einsum("ij,jqp->iqp", hat, shuffled)) / keep) ** 2).sum((0, 1))
    count = len(values)
    total = (((values - values.mean(0)) * count / (count - 1)) ** 2).sum()
    r_squared = 1 - missed / total
    return float(r_squared[0]), float(np.mean(r_squared >= r_squared[0]))


def _rank_correlation(feature: Floats, values: Floats) -> float | None:
    from scipy.stats import spearmanr

    if values.shape[1] > 1 or np.ptp(feature) == 0:
        return None
    return float(spearmanr(feature, values[:, 0]).statistic)
