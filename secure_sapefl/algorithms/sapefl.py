"""SAPE-FL, the paper's form: dual anchors, peers weighed by similarity, scores that weigh the global step."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import PrivateQuery, PrivateTraining, Releases
from secure_sapefl.config import Settings
from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.sape.similarity import (
    OutputForm,
    combined,
    output_similarity,
    similarity_scores,
    weight_similarity,
)
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss, Objective

Answers = tuple[Tensor, Tensor, Tensor]
"""Of some peers, on rows of sites: sites [J', n], peers [J', 1] and what they answer, [J', n, m, K]."""

_CHUNK_VALUES = 1 << 22  # peers are evaluated in chunks that fill at most this many activations, as in models


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
    refine_epochs: int = Field(0, ge=0, description="plain epochs before a site uses its model; their result stays")


def site_round(group: SiteGroup, options: SapeOptions) -> Contribution:
    """Algorithm 2 of the paper, for every site of the group at once."""
    with group.clock.phase("local"):
        theta_local = group.train_local()
    with group.clock.phase("similarity"):
        received = group.peers.received.to(theta_local.device)
        similarity = similarities(group, options)
        peer_anchor = peer_anchors(similarity, received, group.peers.models, options.similarity_threshold)
    with group.clock.phase("personal"):
        start = theta_local if options.personal_start == "local" else group.state["theta_personal"]
        objective = dual_anchored(group, options, start, peer_anchor)
        theta_personal = group.train(start, objective, Purpose.PERSONAL_BATCHES, options.personal_epochs)
    return Contribution(
        state={"theta_personal": theta_personal},
        update=theta_local - group.theta_global,
        score=similarity_scores(similarity, received),
        shared=theta_personal,
        statistics={
            "peers_received": received.sum(1),
            "peers_passed": peer_anchor.passed,
            "similarity": similarity.where(received, torch.nan),
        },
    )


def similarities(group: SiteGroup, options: SapeOptions) -> Tensor:
    """S_cj of Eq. 9 between each site's own model of the last round and every model in the group's hands, [G, J]."""
    return combined(options.influence, partial(_output_part, group, options), partial(_weight_part, group, options))


def _output_part(group: SiteGroup, options: SapeOptions) -> Tensor:
    """Eq. 10; in a private study of all rows, and noised before anything is made of it."""
    if group.private is None:
        rows = group.sample_rows(options.similarity_batch, Purpose.SIMILARITY_ROWS)
        return _compared(group, *rows, options.output_form)
    exact = mean_over_all_rows(group, partial(_compared, form="per_sample"))
    return group.private.means(exact, group.peers.received, Purpose.SIMILARITY_ROWS)


def mean_over_all_rows(group: SiteGroup, compared: Callable[[SiteGroup, Tensor, Tensor], Tensor]) -> Tensor:
    """Similarities [G, J] over all n_c rows, from means over some of them: ``compared(group, x, present)``."""
    present, total = group.present, group.theta_global.new_zeros(group.peers.received.shape)
    for block, x in group.row_blocks():
        counted = present[: len(x), block]
        total[: len(x)] += counted.sum(1, keepdim=True) * compared(group.first(len(x)), x, counted)
    return total / group.row_counts.unsqueeze(1)


def _compared(group: SiteGroup, x: Tensor, present: Tensor, form: OutputForm) -> Tensor:
    return alike_on(group, x, present, form, compared_answers(group, x))


def alike_on(group: SiteGroup, x: Tensor, present: Tensor, form: OutputForm, found: Iterable[Answers]) -> Tensor:
    """Eq. 10 for the pairs (site, peer) that exist, from what peers answer on rows ``x``."""
    own_outputs = group.task.compared(group.trainer.model.outputs(group.state["theta_personal"], x))
    similarity = own_outputs.new_zeros(group.peers.received.shape)
    for sites, peers, answers in found:
        similarity[sites, peers] = output_similarity(
            own_outputs[sites], group.task.compared(answers), present[sites], form
        )
    return similarity


def compared_answers(group: SiteGroup, x: Tensor) -> Iterator[Answers]:
    """f(theta_j, D_c) on ``x`` [G, m, ...] for the pairs (site c, peer j) that exist, in chunks of peers. Each peer
    model reads the rows of all its sites in one product.

    Peers are taken in order of how many sites received them, so that the padding inside a chunk stays small.
    """
    model, peers = group.trainer.model, group.peers
    sites_of = [torch.nonzero(column).squeeze(1) for column in peers.received.cpu().T]
    order = sorted((j for j, sites in enumerate(sites_of) if len(sites)), key=lambda j: len(sites_of[j]), reverse=True)
    while order:
        most = len(sites_of[order[0]])
        chunk = max(1, _CHUNK_VALUES // (most * x.shape[1] * model.widest))
        now, order = order[:chunk], order[chunk:]
        sites = _padded([sites_of[j] for j in now]).to(x.device)
        answers = model.outputs(peers.models[now], x[sites].flatten(1, 2)).unflatten(1, (most, -1))
        yield sites, torch.tensor(now, device=sites.device).unsqueeze(1), answers


def _padded(rows: list[Tensor]) -> Tensor:
    """Lists of sites, the longest first, as one matrix; a short one repeats its first site."""
    return torch.stack([F.pad(row, (0, len(rows[0]) - len(row)), value=int(row[0])) for row in rows])


def _weight_part(group: SiteGroup, options: SapeOptions) -> Tensor:
    own, models = group.state["theta_personal"], group.peers.models
    if options.weight_similarity == "displacement":
        own, models = own - group.theta_initial, models - group.theta_initial
    return weight_similarity(own, models, group.peers.received)


def dual_anchored(group: SiteGroup, options: SapeOptions, start: Tensor, peer_anchor: PeerAnchors) -> Objective:
    """Eq. 5 with both anchors frozen; the peer anchor is silent (strength 0) where no peer passed the filter."""
    if options.anchor_strength == 0:
        return LocalLoss()
    reads_data = options.influence > 0
    thetas = (peer_anchor.theta, group.theta_global)
    answers = [group.compared(theta.expand_as(start)) for theta in thetas] if reads_data else []
    strength = torch.full((group.size,), options.anchor_strength, device=start.device)
    anchors = Anchors.stacked(thetas, answers, (strength * peer_anchor.present, strength))
    if options.anchoring == "cosine":
        return CosineAnchored(anchors, options.influence, options.output_form)
    own = group.compared(start) if reads_data else None
    fixed = _fixed_coefficients(group, options, anchors, start, own)
    return ProximalAnchored(replace(anchors, strength=anchors.strength * fixed))


def _fixed_coefficients(
    group: SiteGroup, options: SapeOptions, anchors: Anchors, start: Tensor, own: Tensor | None
) -> Tensor:
    """S of Eq. 6 as the round begins. Its output part reads records: in a private study it is a release of its own."""
    private = group.private
    if private is None:
        return anchors.coefficients(start, own, group.present, options.influence, options.output_form)

    def noised(exact: Tensor) -> Tensor:
        by_declared = exact * (group.present.sum(1) / group.row_counts).unsqueeze(1)
        return private.means(by_declared, anchors.strength > 0, Purpose.ANCHOR_ROWS)

    return anchors.coefficients(start, own, group.present, options.influence, "per_sample", noised)


def used_models(group: SiteGroup, options: SapeOptions) -> Tensor:
    """theta_personal, or a copy refined on the site's own rows.

    Deviation: the paper has no such step. In a private study what peers are given is noised; what stays need not be.
    """
    theta = group.state["theta_personal"]
    if options.refine_epochs == 0:
        return theta
    return group.train(theta, LocalLoss(), Purpose.FINE_TUNING, options.refine_epochs, leaves=False)


def from_common(group: SiteGroup, options: SapeOptions) -> Tensor:
    """Under shared noise, where no peer's model travels: the personal step of Eq. 5 with the global anchor alone."""
    newest = group.everywhere(group.theta_global)
    objective = dual_anchored(group, options, newest, PeerAnchors.nobody(newest))
    return group.train(newest, objective, Purpose.PERSONAL_BATCHES, options.personal_epochs)


def releases(options: SapeOptions, local_epochs: int) -> Releases:
    """Both trainings by DP-SGD; the vector of output similarities once, for anchor, filter and score alike."""
    queries = [PrivateQuery(Purpose.SIMILARITY_ROWS, "similarity_score")]
    if options.anchoring == "proximal" and options.anchor_strength > 0:
        queries.append(PrivateQuery(Purpose.ANCHOR_ROWS, "theta_personal"))
    return Releases(
        trainings=(
            PrivateTraining(Purpose.LOCAL_BATCHES, "update", local_epochs),
            PrivateTraining(Purpose.PERSONAL_BATCHES, "theta_personal", options.personal_epochs or local_epochs),
        ),
        queries=tuple(queries) if options.influence > 0 else (),
        free=() if options.influence > 0 else ("similarity_score",),
        notes=(
            "Output similarities are means over all rows of one cosine a record (per_sample), whatever output_form and "
            "similarity_batch say: only then is one record's effect bounded by 1 / n.",
        ),
    )


ALGORITHM = Algorithm(
    name="sapefl",
    title="SAPE-FL",
    source="SAPE-FL: similarity-aware personalized federated learning (Algorithms 1 and 2, Eq. 5-12)",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=used_models,
    score_bound=lambda facts: float(max(facts.most_peers, 1)),
    relays_models=True,
    options=SapeOptions,
    releases=releases,
    from_common=from_common,
)
