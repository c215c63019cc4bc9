"""FedAFK (Yin & Mao 2025, arXiv 2410.15073): a FedAvg model g and a private model p whose body mixes with g's.

The paper was not readable; this follows a public fork that is presumably a co-author's. A round starts from g = theta_G
and takes, batch by batch, with h the head, phi the body and m the site's own mixing coefficient:

    g     <- g - eta grad L(g)
    phi_p <- phi_p - eta grad [(1 - lambda) L(p) + lambda ||phi_p - phi_g||^2],   h_p and phi_g standing still
    m     <- clip(m - eta_m (<phi_p - phi_g, m grad_p + (1 - m) grad_g> + 0.02 m), 0, 1)
    phi_p <- m phi_p + (1 - m) phi_g

then trains h_p on L(p) for as many steps with phi_p frozen, and uploads g alone. Our interpretation: the transfer loss
is the fork's squared distance (a third-party review calls it a KL divergence), grad_p and grad_g are the gradients of
the first two lines, and phi_g is detached in the second, which the fork forgets.

Private form: g alone leaves, and its line reads neither p nor m. Its steps are noised; those of p, m and h_p use exact
gradients and stay at the site.
"""

import torch
from pydantic import Field
from torch import Tensor
from torch.linalg import vecdot

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, one_update
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss

_DECAY = 0.02  # of the mixing coefficient


class FedAfkOptions(Settings):
    transfer: float = Field(0.3, ge=0, le=1, description="lambda, staying near the global body against the local loss")
    mixing_lr: float = Field(0.005, ge=0, description="learning rate of the mixing coefficient")


def initial_state(theta_initial: Tensor, sites: int) -> dict[str, Tensor]:
    return personal_state(theta_initial, sites) | {"mixing": torch.full((sites,), 0.5)}


def site_round(group: SiteGroup, options: FedAfkOptions) -> Contribution:
    with group.clock.phase("local"):
        theta_local, body, mixing = mixed_bodies(group, options)
    with group.clock.phase("personal"):
        head = trained_head(group, body)
    return Contribution(
        state={"theta_personal": torch.cat([body, head], 1), "mixing": mixing},
        update=theta_local - group.theta_global,
        score=group.row_counts,
    )


def mixed_bodies(group: SiteGroup, options: FedAfkOptions) -> tuple[Tensor, Tensor, Tensor]:
    """Phase 1: g, phi_p and m after E epochs."""
    g, p = group.everywhere(group.theta_global).clone(), group.state["theta_personal"].clone()
    mixing, split = group.state["mixing"].clone(), group.trainer.model.head_start
    leaving, staying = (group.gradient_steps(Purpose.LOCAL_BATCHES, leaves=leaves) for leaves in (True, False))
    for (active, step_g), (_, step_p) in zip(leaving, staying, strict=True):
        own, shared, m = p[:active, :split], g[:active, :split], mixing[:active]
        gradient_g = step_g.gradient(g[:active])
        g[:active] -= group.lr * gradient_g
        gradient_p = step_p.gradient(p[:active])[:, :split]
        gradient_p = (1 - options.transfer) * gradient_p + 2 * options.transfer * (own - shared)
        own -= group.lr * gradient_p
        blend = torch.lerp(gradient_g[:, :split], gradient_p, m.unsqueeze(1))
        m -= options.mixing_lr * (vecdot(own - shared, blend) + _DECAY * m)
        m.clamp_(0, 1)
        own.copy_(torch.lerp(shared, own, m.unsqueeze(1)))
    return g, p[:, :split], mixing


def trained_head(group: SiteGroup, body: Tensor) -> Tensor:
    """Phase 2: E epochs of h_p on L(p). The body stands still, so its features are computed once."""
    head = group.state["theta_personal"][:, group.trainer.model.head_start :]
    return group.on_features(body).train(head, LocalLoss(), Purpose.PERSONAL_BATCHES, leaves=False)


ALGORITHM = Algorithm(
    name="fedafk",
    title="FedAFK",
    source="Yin & Mao, Personalized FL with Adaptive Feature Aggregation and Knowledge Transfer, arXiv 2410.15073",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=initial_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda facts: float(facts.largest_site),
    takes_own_steps=True,
    splits_models=True,
    options=FedAfkOptions,
    releases=one_update,
    from_common=NotShared("what it sends follows from a model that each site trains for itself."),
)
