"""FedACS (Chen, Li, Shen 2024, arXiv 2312.15148): pull each site's model towards those of similar sites.

Known from a summary alone: min sum_i L_i(w_i) + lambda sum_ij s_ij ||w_i - w_j||^2 with cosine similarities s_ij,
solved through intermediate models, with a threshold that depends on the round. No code was found. Our interpretation
of the rest alternates as FedAMP does, w_0 being the weights everybody started from:

    s_ij = max(0, cos(w_i - w_0, w_j - w_0))               raw weights have cosines near 1
    N_i  = {j : s_ij >= delta},   delta = mean of s over all pairs of models the site holds, its own among them
    u_i  = (1 - rho) w_i + rho sum_{N_i} s_ij w_j / sum_{N_i} s_ij,   w_i itself where N_i is empty
    w_i  = E epochs of L_i(w) + lambda/2 ||w - u_i||^2 from u_i

Deviation: there the server reads every model and sends u_i. Here it relays sealed models, of every site that ever took
part, and each site computes its own u_i: the same numbers, more bytes down, and a server that learns nothing.
"""

import torch
from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, PrivateTraining, Releases
from secure_sapefl.config import Settings
from secure_sapefl.sape.similarity import weight_similarity
from secure_sapefl.streams import Purpose


class FedAcsOptions(Settings):
    mixing: float = Field(0.5, ge=0, le=1, description="rho, the share of similar sites in the intermediate model")
    strength: float = Field(0.01, ge=0, description="lambda, the pull towards the intermediate model while training")


def site_round(group: SiteGroup, options: FedAcsOptions) -> Contribution:
    own = group.state["theta_personal"]
    received = group.peers.received.to(own.device)
    with group.clock.phase("similarity"):
        similarity, between = displacement_cosines(group)
        near = neighbours(similarity, between, received)
        intermediate = intermediate_models(own, group.peers.models, similarity * near, options.mixing)
    with group.clock.phase("personal"):
        objective = group.proximal(intermediate, options.strength)
        theta = group.train(intermediate, objective, Purpose.LOCAL_BATCHES)
    return Contribution(
        state={"theta_personal": theta},
        shared=theta,
        statistics={
            "peers_received": received.sum(1),
            "peers_passed": near.sum(1),
            "similarity": similarity.where(received, torch.nan),
        },
    )


def displacement_cosines(group: SiteGroup) -> tuple[Tensor, Tensor]:
    """s between each site and every model, [G, J], and between all models, [J, J]."""
    moved = group.peers.models - group.theta_initial
    own = group.state["theta_personal"] - group.theta_initial
    return weight_similarity(own, moved), weight_similarity(moved, moved)


def neighbours(similarity: Tensor, between: Tensor, received: Tensor) -> Tensor:
    """N_i as a mask [G, J]: the received models at least as similar as pairs are on average."""
    mask = received.to(similarity.dtype)
    count = mask.sum(1)
    peer_pairs = ((mask @ between.fill_diagonal_(0)) * mask).sum(1) / 2
    own_pairs = (similarity * mask).sum(1)
    threshold = (peer_pairs + own_pairs) / (count * (count + 1) / 2).clamp(min=1)
    return received & (similarity >= threshold.unsqueeze(1)) & (similarity > 0)


def intermediate_models(own: Tensor, models: Tensor, weights: Tensor, mixing: float) -> Tensor:
    """u_i, [G, P]."""
    total = weights.sum(1, keepdim=True)
    similar = weights @ models / total.where(total > 0, 1)
    return torch.where(total > 0, torch.lerp(own, similar, mixing), own)


ALGORITHM = Algorithm(
    name="fedacs",
    title="FedACS",
    source="Chen, Li, Shen: Personalized Federated Learning with Attention-Based Client Selection, arXiv 2312.15148",
    homomorphic=Homomorphic.RELAY,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda _: 1.0,
    relays_models=True,
    peers_from="everyone",
    options=FedAcsOptions,
    from_common=NotShared("nothing is summed: peers read each other's models."),
    releases=lambda _, epochs: Releases(
        trainings=(PrivateTraining(Purpose.LOCAL_BATCHES, "theta_personal", epochs),), free=("similarity_score",)
    ),
)
