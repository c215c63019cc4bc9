"""Per-FedAvg (Fallah et al., NeurIPS 2020): learn weights that are good *after* one local gradient step.

A site takes E epochs' worth of steps from w = theta_G, each on independent batches D, D', D'':

    v = grad L(w - alpha grad L(w; D); D')
    first-order:    w <- w - beta v
    Hessian-free:   w <- w - beta (v - alpha d),   d = (grad L(w + delta v; D'') - grad L(w - delta v; D'')) / (2 delta)

The server takes the uniform mean. A site uses w - alpha grad L_c(w), the gradient taken over all of its training rows.
Read from independent code; the defaults found there (alpha 0.01, beta 0.001) could not be checked against the paper.
Our interpretation: beta is the study's learning rate unless given, since 0.001 hardly moves in the same number of
steps; alpha is 0.05, so that one full gradient is a step worth taking; the Hessian-free form wants it smaller, as it
climbs wherever the curvature exceeds 1 / alpha.

Private form: all gradients of a step are clipped record by record and noised, two a step, or three in the Hessian-free
form, where a record's share of d is clipped as a whole: noising the two gradients apart and dividing by 2 delta would
leave nothing but noise. Each is a run of the sampled Gaussian mechanism at a point that follows from the answers
before it, so a round costs as much as two or three trainings. The step before use stays at the site, without noise.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, no_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, PrivateTraining, Releases
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.steps import Step


class PerFedAvgOptions(Settings):
    order: Literal["first", "hessian-free"] = "first"
    inner_lr: float = Field(0.05, gt=0, description="alpha, the step a site takes before using the model")
    outer_lr: float | None = Field(None, gt=0, description="beta; the study's learning rate where not given")
    probe: float = Field(0.001, gt=0, description="delta, how far the Hessian-free form looks along v")
    adaptation_steps: int = Field(1, ge=1, description="full gradient steps of a site before using the model")


def site_round(group: SiteGroup, options: PerFedAvgOptions) -> Contribution:
    beta = options.outer_lr or group.lr
    theta = group.everywhere(group.theta_global).clone()
    with group.clock.phase("local"):
        for steps in zip(*(group.gradient_steps(purpose) for purpose in purposes(options)), strict=True):
            now = theta[: steps[0][0]]
            now -= beta * meta_gradient(now, [step for _, step in steps], options)
    score = torch.ones(group.size, device=theta.device)
    return Contribution(state={}, update=theta - group.theta_global, score=score)


def purposes(options: PerFedAvgOptions) -> tuple[Purpose, ...]:
    """One a gradient: D, D' and, Hessian-free, D''."""
    first_order = (Purpose.LOCAL_BATCHES, Purpose.META_BATCHES)
    return first_order if options.order == "first" else (*first_order, Purpose.CURVATURE_BATCHES)


def meta_gradient(w: Tensor, steps: Sequence[Step], options: PerFedAvgOptions) -> Tensor:
    """The gradient of L(w - alpha grad L(w)), with or without its second-order part; the probe is around w itself."""
    inner, meta, *curvature = steps
    alpha, delta = options.inner_lr, options.probe
    v = meta.gradient(w - alpha * inner.gradient(w))
    if not curvature:
        return v
    difference = curvature[0].difference(w + delta * v, w - delta * v, 2 * delta)
    return v - alpha * difference / (2 * delta)


def adapted(group: SiteGroup, options: PerFedAvgOptions) -> Tensor:
    """w - alpha grad L_c(w), ``adaptation_steps`` times."""
    theta = group.everywhere(group.theta_global)
    for _ in range(options.adaptation_steps):
        theta = theta - options.inner_lr * full_gradient(group, theta)
    return theta


def full_gradient(group: SiteGroup, theta: Tensor) -> Tensor:
    """grad L_c over all of a site's training rows, gathered batch by batch."""
    total, rows = torch.zeros_like(theta), group.row_counts
    for active, batch in group.steps(Purpose.FINE_TUNING, epochs=1):
        share = (batch.weight > 0).sum(1) / rows[:active]
        total[:active] += share.unsqueeze(1) * group.trainer.gradient(theta[:active], batch, LocalLoss())
    return total


def releases(options: PerFedAvgOptions, local_epochs: int) -> Releases:
    """Every gradient of a step is a release; a site counts once, whatever its size."""
    return Releases(
        trainings=tuple(PrivateTraining(purpose, "update", local_epochs) for purpose in purposes(options)),
        free=("similarity_score",),
        notes=("Every site weighs 1. A meta-step takes two noised gradients, three in the Hessian-free form.",),
    )


ALGORITHM = Algorithm(
    name="perfedavg",
    title="Per-FedAvg",
    source="Fallah et al., Personalized Federated Learning with Theoretical Guarantees: A Model-Agnostic Meta-Learning "
    "Approach, NeurIPS 2020",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=no_state,
    site_round=site_round,
    personal_models=adapted,
    score_bound=lambda _: 1.0,
    takes_own_steps=True,
    options=PerFedAvgOptions,
    releases=releases,
    from_common=NotShared("its gradients are taken at points that differ from site to site."),
)
