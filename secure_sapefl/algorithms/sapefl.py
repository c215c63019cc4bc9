"""SAPE-FL, the paper's form: dual anchors, peers weighed by similarity, scores that weigh the global step."""

from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, Peers, SiteGroup, personal_state
from secure_sapefl.config import Settings
from secure_sapefl.models import Model
from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.sape.similarity import (
    OutputForm,
    combined_similarity,
    output_similarity,
    similarity_scores,
    weight_similarity,
)
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss, Objective

_CHUNK_VALUES = 1 << 24  # peers are evaluated in chunks that fill at most this many activations


class SapeOptions(Settings):
    """Where the paper leaves room; the defaults are explained in docs/algorithms.md."""

    influence: float = Field(0.5, ge=0, le=1, description="output (1) against weight (0) similarity; the paper's delta")
    similarity_threshold: float = Field(0.5, ge=0, le=1, description="peer filter S_min")
    anchoring: Literal["cosine", "proximal"] = "cosine"
    anchor_strength: float = Field(1.0, ge=0)
    output_form: OutputForm = "flattened"
    weight_similarity: Literal["weights", "displacement"] = "weights"
    personal_start: Literal["local", "personal"] = "local"
    personal_epochs: int | None = Field(None, ge=1, description="epochs of the personal step; E where not given")
    similarity_batch: int = Field(32, ge=1, description="rows of a site on which peers are compared")


def site_round(group: SiteGroup, options: SapeOptions) -> Contribution:
    """Algorithm 2 of the paper, for every site of the group at once."""
    with group.clock.phase("local"):
        theta_local = group.train_local()
    with group.clock.phase("similarity"):
        similarity = similarities(group, options)
        peer_anchor = peer_anchors(similarity, group.peers.received, group.peers.models, options.similarity_threshold)
    with group.clock.phase("personal"):
        start = theta_local if options.personal_start == "local" else group.state["theta_personal"]
        objective = dual_anchored(group, options, start, peer_anchor)
        theta_personal = group.train(start, objective, Purpose.PERSONAL_BATCHES, options.personal_epochs)
    return Contribution(
        state={"theta_personal": theta_personal},
        update=theta_local - group.theta_global,
        score=similarity_scores(similarity, group.peers.received),
        shared=theta_personal,
        statistics={
            "peers_received": group.peers.received.sum(1),
            "peers_passed": peer_anchor.passed,
            "similarity": similarity.where(group.peers.received, torch.nan),
        },
    )


def similarities(group: SiteGroup, options: SapeOptions) -> Tensor:
    """S_cj of Eq. 9 between each site's own model of the last round and every model in the group's hands, [G, J]."""
    own, models = group.state["theta_personal"], group.peers.models
    x, present = group.rows(options.similarity_batch, Purpose.SIMILARITY_ROWS)
    model = group.trainer.model
    weight = _weight_part(own, models, group.theta_initial, options) if options.influence < 1 else torch.zeros(())
    if options.influence == 0:
        return combined_similarity(torch.zeros_like(weight), weight, 0)
    output = _output_part(model, own, group.peers, x, present, options.output_form)
    return combined_similarity(output, weight, options.influence)


def _output_part(model: Model, own: Tensor, peers: Peers, x: Tensor, present: Tensor, form: OutputForm) -> Tensor:
    """Eq. 10 for the pairs (site, peer) that exist: each peer model reads the rows of all its sites in one product.

    Peers are taken in order of how many sites received them, so that the padding inside a chunk stays small.
    """
    own_outputs = model.outputs(own, x)
    similarity = own.new_zeros(peers.received.shape)
    sites_of = [torch.nonzero(column).squeeze(1) for column in peers.received.T]
    order = sorted((j for j, sites in enumerate(sites_of) if len(sites)), key=lambda j: len(sites_of[j]), reverse=True)
    while order:
        most = len(sites_of[order[0]])
        chunk = max(1, _CHUNK_VALUES // (most * x.shape[1] * model.widest))
        now, order = order[:chunk], order[chunk:]
        sites = torch.stack([F.pad(sites_of[j], (0, most - len(sites_of[j])), value=int(sites_of[j][0])) for j in now])
        answers = model.outputs(peers.models[now], x[sites].flatten(1, 2)).unflatten(1, (most, -1))
        alike = output_similarity(own_outputs[sites], answers, present[sites], form)
        similarity[sites, torch.tensor(now, device=sites.device).unsqueeze(1)] = alike
    return similarity


def _weight_part(own: Tensor, models: Tensor, theta_initial: Tensor, options: SapeOptions) -> Tensor:
    if options.weight_similarity == "displacement":
        return weight_similarity(own - theta_initial, models - theta_initial)
    return weight_similarity(own, models)


def dual_anchored(group: SiteGroup, options: SapeOptions, start: Tensor, peer_anchor: PeerAnchors) -> Objective:
    """Eq. 5 with both anchors frozen; the peer anchor is silent (strength 0) where no peer passed the filter."""
    if options.anchor_strength == 0:
        return LocalLoss()
    model = group.trainer.model
    x, present = group.rows(None, Purpose.PERSONAL_BATCHES)
    strength = torch.full((group.size,), options.anchor_strength, device=start.device)
    anchors = Anchors.of(
        (peer_anchor.theta, group.theta_global),
        (model.outputs(peer_anchor.theta, x), model.outputs(group.everywhere(group.theta_global), x)),
        (strength * peer_anchor.present, strength),
    )
    if options.anchoring == "cosine":
        return CosineAnchored(anchors, options.influence, options.output_form)
    fixed = anchors.coefficients(start, model.outputs(start, x), present, options.influence, options.output_form)
    return ProximalAnchored(replace(anchors, strength=anchors.strength * fixed))


ALGORITHM = Algorithm(
    name="sapefl",
    title="SAPE-FL",
    source="SAPE-FL: similarity-aware personalized federated learning (Algorithms 1 and 2, Eq. 5-12)",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda facts: float(max(facts.most_peers, 1)),
    relays_models=True,
    options=SapeOptions,
)
