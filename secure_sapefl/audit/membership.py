"""Membership inference: was this record in that site's training?

Two attacks on every model a party holds. The *loss threshold* (Yeom et al. 2018, arXiv:1709.01604) says a record the
model is sure of was a member. *RMIA* (Zarifzadeh et al. 2024, arXiv:2312.03262) asks how much surer the model is of it
than reference models are, and whether that is more than for records of the population:

    score(x) = Pr_z [ (p(x | theta) / p(x)) / (p(z | theta) / p(z)) >= 1 ],   p(x) the mean over reference models
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from secure_sapefl.audit.candidates import Candidates
from secure_sapefl.audit.references import Models, World
from secure_sapefl.audit.roc import Detection, detection
from secure_sapefl.metrics import Floats
from secure_sapefl.models.base import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Both attacks on one kind of model."""

    kind: str
    models: int
    loss: Detection
    rmia: Detection | None  # None without reference models of these sites

    def to_json(self) -> dict[str, Any]:
        return {
            "models": self.models,
            "loss_threshold": self.loss.to_json(),
            "rmia": None if self.rmia is None else self.rmia.to_json(),
        }


def infer_membership(
    models: Models, candidates: Candidates, model: Model, worlds: Sequence[World], rng: np.random.Generator
) -> Membership:
    asked = candidates.for_sites(tuple(models.by_site))
    loss = asked.log_confidence(model, models.stack(asked.sites))
    references = [world.models[models.kind] for world in worlds if models.kind in world.models]
    known = tuple(site for site in asked.sites if any(site in one.by_site for one in references))
    rmia = None
    if known:
        part = asked.for_sites(known)
        ratio = part.log_confidence(model, models.stack(known)) - _difficulty(part, model, references)
        rmia = _detected(_above_population(ratio, part), part, rng)
    return Membership(kind=models.kind, models=len(models.by_site), loss=_detected(loss, asked, rng), rmia=rmia)


def _difficulty(part: Candidates, model: Model, references: Sequence[Models]) -> Floats:
    """log p(x), the mean over the reference models that a site has, [S, n]."""
    total = np.full(part.asked.shape, -np.inf)
    count = np.zeros((len(part.sites), 1))
    for one in references:
        sites = tuple(site for site in part.sites if site in one.by_site)
        if sites:
            at = [part.sites.index(site) for site in sites]
            confidence = part.for_sites(sites).log_confidence(model, one.stack(sites))
            total[at] = logsumexp([total[at], confidence], axis=0)
            count[at] += 1
    return np.asarray(total - np.log(count))


def _above_population(ratio: Floats, part: Candidates) -> Floats:
    """The share of population rows whose ratio a record's reaches, model by model: comparable between models."""
    scores = np.empty_like(ratio)
    for s, (row, population) in enumerate(zip(ratio, part.population, strict=True)):
        scores[s] = np.searchsorted(np.sort(row[population]), row, side="right") / population.sum()
    return scores


def _detected(scores: Floats, part: Candidates, rng: np.random.Generator) -> Detection:
    return detection(scores[part.asked], part.member[part.asked], rng)
