"""FedAS (Yang et al., CVPR 2024): a shared body, private heads, and weights from Fisher information.

A site's round, read from the authors' code:

    p_k   = mean of phi_c(x) over its rows of class k, with the body it had before
    psi   = phi_G after an epoch towards those prototypes: sum over classes k in a batch of MSE(psi(x_k), p_k)
    theta = (psi, h_c) after E epochs of L_c on body and head together
    F_c   = sum over batches of ||grad of the mean NLL||^2;    phi_G <- sum_c F_c phi_c / sum_c F_c

Only bodies leave a site. F_c has no bound of its own and the server weighs with whole numbers up to one, so our
interpretation: F_c is cut at ``fisher_cap``, and its share of that is what a site sends. One too small to be told from
0 still counts as the smallest weight, so that a cohort of vanishing F_c is averaged evenly (the authors' code divides
by zero there). Batches of the alignment and of F_c have the study's batch size; the authors use 16.

Private form: class means read all records at once, so in a private study psi follows, record by record, the features
the old body gave that same record: K times their mean squared distance, the same loss where all rows of a class have
one feature vector and classes are even. Alignment and training are DP-SGD, so the body, and the head that stays and
shapes the next round's body, are both paid for. F_c is the sum over records of their own squared gradient, each cut at
the squared clip and in units of it: a mean of bounded terms, noised once. Uncut, with batches of one record, that is
the F_c above.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, body_only, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, PrivateQuery, PrivateTraining, Releases
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Batch, LocalLoss, Objective

_LEAST_WEIGHT: Final = 1e-6  # noise may bring F_c down to 0; the site still counts


class FedAsOptions(Settings):
    alignment_epochs: int = Field(1, ge=1, description="passes that move the global body towards the old features")
    alignment_lr: float = Field(0.01, gt=0, description="their learning rate")
    fisher_cap: float = Field(1024.0, gt=0, description="the most that Fisher information counts in the common body")


@dataclass(frozen=True, slots=True)
class Alignment(LocalLoss):
    """A distance of features, which stand where logits do: the model is a body."""

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        return (self.record_loss(logits, batch) * batch.weight).sum(1)


@dataclass(frozen=True, slots=True)
class TowardsPrototypes(Alignment):
    """Mean squared distance of features to their class's prototype, summed over the classes of a batch."""

    prototypes: Tensor  # [G, K, F]

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        sites = torch.arange(len(batch.y), device=batch.y.device).unsqueeze(1)
        distance = (logits - self.prototypes[sites, batch.y]).square().mean(2)
        present = batch.weight > 0
        alike = (batch.y.unsqueeze(2) == batch.y.unsqueeze(1)) & present.unsqueeze(1)
        return distance * present.sum(1, keepdim=True) / alike.sum(2).clamp(min=1)

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.prototypes[sites])


@dataclass(frozen=True, slots=True)
class TowardsOldFeatures(Alignment):
    """Private form of `TowardsPrototypes`: what a record brings depends on no other record."""

    features: Tensor  # what the old body makes of every row, [G, n, F]
    classes: int

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        sites = torch.arange(len(batch.y), device=batch.y.device).unsqueeze(1)
        return self.classes * (logits - self.features[sites, batch.rows]).square().mean(2)

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.features[sites], self.classes)


def site_round(group: SiteGroup, options: FedAsOptions) -> Contribution:
    old, split = group.state["theta_personal"], group.trainer.model.head_start
    with group.clock.phase("local"):
        body = aligned_body(group, old[:, :split], options)
    with group.clock.phase("personal"):
        theta = group.train(torch.cat([body, old[:, split:]], 1), LocalLoss(), Purpose.PERSONAL_BATCHES)
    with group.clock.phase("similarity"):
        score = fisher_weights(group, theta).clamp(max=options.fisher_cap) / options.fisher_cap
    return Contribution(
        state={"theta_personal": theta}, update=theta[:, :split] - group.theta_global[:split], score=score
    )


def aligned_body(group: SiteGroup, old: Tensor, options: FedAsOptions) -> Tensor:
    """psi: a copy of the global body whose features resemble those the site's head was trained on."""
    model = group.trainer.model
    bodies = replace(group, trainer=group.trainer.for_model(model.body), lr=options.alignment_lr)
    start = group.everywhere(group.theta_global[: model.head_start])
    return bodies.train(start, alignment(group, old), Purpose.ALIGNMENT_BATCHES, options.alignment_epochs)


def alignment(group: SiteGroup, old: Tensor) -> Objective:
    if group.private is None:
        return TowardsPrototypes(class_means(group, old))
    return TowardsOldFeatures(group.features(old), group.trainer.model.classes)


def class_means(group: SiteGroup, bodies: Tensor) -> Tensor:
    """Mean features of each class at each site, [G, K, F]; 0 where a site has no row of a class."""
    member = F.one_hot(group.labels, group.trainer.model.classes) * group.present.unsqueeze(2)
    return member.mT @ group.features(bodies) / member.sum(1).clamp(min=1).unsqueeze(2)


def fisher_weights(group: SiteGroup, theta: Tensor) -> Tensor:
    """F_c, before it is cut."""
    if group.private is None:
        return fisher_trace(group, theta)
    mean = group.private.squared_norms(
        theta, group.trainer.model, group.rows_for(Purpose.FISHER_BATCHES), Purpose.FISHER_BATCHES
    )
    return (group.row_counts * mean).clamp(min=_LEAST_WEIGHT)


def fisher_trace(group: SiteGroup, theta: Tensor) -> Tensor:
    """F_c = sum over batches of ||grad of the mean negative log-likelihood||^2, over body and head, [G]."""
    trace = torch.zeros(group.size, device=theta.device)
    for active, batch in group.steps(Purpose.FISHER_BATCHES, epochs=1):
        trace[:active] += group.trainer.gradient(theta[:active], batch, LocalLoss()).square().sum(1)
    return trace


def releases(options: FedAsOptions, local_epochs: int) -> Releases:
    return Releases(
        trainings=(
            PrivateTraining(Purpose.ALIGNMENT_BATCHES, "update", options.alignment_epochs),
            PrivateTraining(Purpose.PERSONAL_BATCHES, "update", local_epochs),
        ),
        queries=(PrivateQuery(Purpose.FISHER_BATCHES, "similarity_score"),),
        notes=("The body is aligned record by record with its old features, not with class means over all records.",),
    )


ALGORITHM = Algorithm(
    name="fedas",
    title="FedAS",
    source="Yang et al., FedAS: Bridging Inconsistency in Personalized Federated Learning, CVPR 2024",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda _: 1.0,
    update_length=body_only,
    splits_models=True,
    classes_for="the mean features of each class, towards which bodies are aligned",
    options=FedAsOptions,
    releases=releases,
    from_common=NotShared("its heads stay at the sites, so there is no common model to take a gradient at."),
)
