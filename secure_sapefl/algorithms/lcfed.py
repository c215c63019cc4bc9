"""LCFed (Zhang et al. 2025, arXiv 2501.01850): cluster sites as they train; share bodies with all, models in a cluster.

Known from a summary and from re-implementations that disagree. With omega_c = (phi_c, h_c) a site's model, Omega_k the
K centres, Phi the mean body and R_c the site's cluster, a round is

    omega_c <- E epochs of L_c(omega) + mu/2 ||omega - Omega_{R_c}||^2 + lambda/2 ||phi - Phi||^2 from Omega_{R_c}
    R_c     <- argmax_k cos(omega_c - m, Omega_k - m), m the mean of all models
    Omega_k <- mean of omega_c over the members of k who took part;   Phi <- mean of phi_c over all who did

an empty cluster keeping its centre; sites use omega_c. Our interpretation: the factors 1/2, means weighted by n_c, the
start at the centre (``start="own"``: at the last omega_c), and, where the paper compares models in a PCA subspace that
the server would have to fit on readable models, cosines of the models less their mean, which a site computes by itself.
Re-implementations have mu = 2 and lambda = 1, which holds sites so tightly that they stop learning; the defaults are
smaller.

The first K rounds make the centres, in the manner of k-means++, while everybody trains plainly: the first is the mean
of all, each further one mostly the model of a single site, drawn by lot from those that resemble no centre yet.

Deviation: the server does not learn who is in which cluster. A site uploads K blocks, its update in its own cluster's
and zeros in the others, and K indicators whose weighted mean tells sites each cluster's share. That is one weighted sum
like FedAvg's, K times as long.
"""

from dataclasses import dataclass
from typing import Final, Literal, Self

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, one_update
from secure_sapefl.config import Settings
from secure_sapefl.models.base import Model
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Pull, TaskLoss

_SMALLEST_SHARE: Final = 1e-4  # of a cluster in a round; below it, the noise of encryption would be divided by it
_SHARPNESS: Final = 40.0  # of bids: among a dozen sites the winner outweighs the runner-up about twenty times


class LcFedOptions(Settings):
    clusters: int = Field(3, ge=1, description="K")
    start: Literal["centre", "own"] = "centre"
    cluster_pull: float = Field(0.1, ge=0, description="mu, towards the centre of the site's cluster")
    body_pull: float = Field(0.05, ge=0, description="lambda, of the body towards the mean body")


def initial_state(theta_initial: Tensor, sites: int) -> dict[str, Tensor]:
    return personal_state(theta_initial, sites) | {"cluster": torch.full((sites,), -1)}


def initial_global(theta_initial: Tensor, options: LcFedOptions) -> Tensor:
    """What sites hold in common: the mean model, and behind it the K centres."""
    return theta_initial.repeat(options.clusters + 1)


def update_length(model: Model, options: LcFedOptions) -> int:
    return options.clusters * (model.parameters + 1)


def global_step(theta_global: Tensor, mean: Tensor, options: LcFedOptions) -> Tensor:
    """Omega_k <- Omega_k + (sum over members of n_c (omega_c - Omega_k) / sum n) / share_k, and the mean of all."""
    centres = theta_global.view(options.clusters + 1, -1)[1:]
    share, blocks = mean[: options.clusters, None], mean[options.clusters :].view_as(centres)
    share = share.where(share > _SMALLEST_SHARE, 0)
    centres = centres + torch.where(share > 0, blocks / share.clamp(min=_SMALLEST_SHARE), 0)
    return torch.cat([(share * centres).sum(0) / share.sum(), centres.flatten()])


def site_round(group: SiteGroup, options: LcFedOptions) -> Contribution:
    common = group.theta_global.view(options.clusters + 1, -1)
    mean_model, centres = common[0], common[1:]
    with group.clock.phase("personal"):
        objective = leashes(group, mean_model, centres, options)
        own = group.state["theta_personal"]
        held = (group.state["cluster"] >= 0).unsqueeze(1)
        start = torch.where(held, objective.centre, own) if options.start == "centre" else own
        theta = group.train(start, objective, Purpose.LOCAL_BATCHES)
    with group.clock.phase("similarity"):
        cosine = F.normalize(theta - mean_model, dim=1) @ F.normalize(centres - mean_model, dim=1).T
        made = (centres != group.theta_initial).any(1)
        nearest, settled = cosine.argmax(1), made.all()
        cluster = torch.where(settled, nearest, group.state["cluster"])
        member = torch.where(settled, F.one_hot(nearest, options.clusters), bids(group, cosine, made))
    blocks = member.unsqueeze(2) * (theta.unsqueeze(1) - centres)
    return Contribution(
        state={"theta_personal": theta, "cluster": cluster},
        update=torch.cat([member, blocks.flatten(1)], 1),
        score=group.row_counts,
    )


def bids(group: SiteGroup, cosine: Tensor, made: Tensor) -> Tensor:
    """How much sites belong to the centres while these are made, [G, K]: fully to the first, by lot to the next one.

    An exponential race: the lot of a site runs at the rate (1 - its largest cosine with a centre drawn before)^8. One
    wins with a probability in proportion to that, and what the others bid falls off steeply behind the first.
    """
    position = torch.arange(len(made), device=made.device)
    lots = [rng.exponential() for rng in group.streams(Purpose.FIRST_CLUSTER)]
    drawn = cosine.where(made & (position > 0), 0)  # nobody resembles a centre that is not there
    rate = (1 - drawn.clamp(min=0).amax(1)).pow(8).clamp(min=1e-6)
    bid = torch.exp(-_SHARPNESS * torch.tensor(lots, dtype=rate.dtype, device=rate.device) / rate)
    return torch.where(position == 0, 1, bid.unsqueeze(1) * (position == made.sum()))


@dataclass(frozen=True, slots=True)
class Leashes(TaskLoss):
    """L_c + mu/2 ||omega - Omega||^2 + lambda/2 ||phi - Phi||^2, with both strengths given weight by weight."""

    centre: Tensor  # Omega of each site's cluster, [G, P]
    mean_model: Tensor  # its body is Phi, [P]
    mu: Tensor  # [G, P]
    lambda_: Tensor  # [G, P], 0 on heads

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        distances = self.mu * (theta - self.centre).square() + self.lambda_ * (theta - self.mean_model).square()
        return distances.sum(1) / 2

    def weight_pull(self, theta: Tensor) -> Pull | None:
        anchor = self.mu * self.centre + self.lambda_ * self.mean_model
        return Pull(self.mu + self.lambda_, -theta.new_ones(len(theta), 1), (anchor,))

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.centre[sites], self.mean_model, self.mu[sites], self.lambda_[sites])


def leashes(group: SiteGroup, mean_model: Tensor, centres: Tensor, options: LcFedOptions) -> Leashes:
    """Nothing holds a site that has no cluster yet."""
    cluster = group.state["cluster"]
    held = (cluster >= 0).to(centres.dtype).unsqueeze(1).expand(-1, centres.shape[1])
    body = torch.arange(centres.shape[1], device=centres.device) < group.trainer.model.head_start
    return Leashes(
        centre=centres[cluster.clamp(min=0)],
        mean_model=mean_model,
        mu=options.cluster_pull * held,
        lambda_=options.body_pull * held * body,
    )


ALGORITHM = Algorithm(
    name="lcfed",
    title="LCFed",
    source="Zhang et al., LCFed: An Efficient Clustered Federated Learning Framework for Heterogeneous Data, "
    "arXiv 2501.01850",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=initial_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda facts: float(facts.largest_site),
    releases=one_update,
    from_common=NotShared("which cluster a site belongs to follows from its records in every round."),
    update_length=update_length,
    initial_global=initial_global,
    global_step=global_step,
    options=LcFedOptions,
)
