"""SAPE-FL with what earned its place beside the paper's form: a variant of ours, not the paper's.

What differs from `sapefl`:

* peers are chosen by similarity around the mean (sape/centred.py) and kept where they are more alike than the average;
* a site starts its personal step from the mean of its own model and its peers' where those peers fit its rows better
  than the global model does once it is told the site's label mix, and from its local copy of that model otherwise;
* the anchors weigh n_0 / (n_0 + n_c): as much as n_0 rows of data;
* the personal model is the mean of the models after each epoch of the second half of its training;
* a site that did not start from its peers when it last took part takes its personal step again, from the newest global
  model, before it uses its model: nobody is left with an old one for having been sampled long ago;
* the global step weighs a site by s_c n_c, the paper's raw score times its rows: large sites count for more, as in
  FedAvg.

Each part can be switched off, which is how docs/methods.md
came to say what each of them buys. The control is `fedavg-ft-plus`: the same epochs and the same averaging, no peers.

Private form: both trainings are DP-SGD; a mean of iterates costs what the iterates cost. Centred output similarities
are noised as `sapefl`'s are, and s_c then counts weights alone, which are private already: peers are asked about once a
round. Where a site starts shapes the model it gives to peers: its label shares and its mean advantage with those peers,
record by record and cut at ``LARGEST_ADVANTAGE``, are noised and paid for. What `personal_models` trains stays.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Final, Literal

import torch
from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import PrivateQuery, PrivateTraining, PrivateUse, Releases
from secure_sapefl.algorithms.sapefl import (
    Answers,
    SapeOptions,
    alike_on,
    compared_answers,
    mean_over_all_rows,
    similarities,
)
from secure_sapefl.config import Settings
from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.centred import above_own_mean, centred_outputs, centred_weights
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.sape.similarity import combined, similarity_scores, weight_similarity
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss, Objective

LARGEST_ADVANTAGE: Final = 2.0
"""In a private study, the most one record may say for or against a site's peers: a difference of log-likelihoods."""


class SapePlusOptions(Settings):
    influence: float = Field(0.5, ge=0, le=1, description="output (1) against weight (0) similarity; the paper's delta")
    similarity: Literal["centred", "raw"] = "centred"
    sharpness: float = Field(4.0, ge=0, description="peers are weighed by similarity to this power")
    start: Literal["adaptive", "local", "peers"] = "adaptive"
    pseudo_rows: float = Field(50.0, ge=0, description="n_0, how many rows of data the anchors are worth; 0 for none")
    weigh_rows: bool = Field(True, description="s_c n_c in the global step instead of s_c")
    averaging: bool = Field(True, description="use the mean over the second half of the personal step's epochs")
    personal_epochs: int | None = Field(None, ge=1, description="epochs of the personal step; 2 E where not given")
    similarity_batch: int = Field(32, ge=1, description="rows of a site on which peers are compared")


def site_round(group: SiteGroup, options: SapePlusOptions) -> Contribution:
    with group.clock.phase("local"):
        theta_local = group.train_local()
    with group.clock.phase("similarity"):
        received = group.peers.received.to(theta_local.device)
        raw, chosen = _similarities(group, received, options)
        weights = above_own_mean(chosen, received, options.sharpness)
        peer_anchor = peer_anchors(weights, received, group.peers.models, 0.0)
    with group.clock.phase("personal"):
        listens = _listens(group, options, peer_anchor)
        start = torch.where(listens.unsqueeze(1), _among_peers(group, peer_anchor), theta_local)
        theta_personal = _personal_step(group, options, start, peer_anchor)
    return Contribution(
        state={"theta_personal": theta_personal, "listens": listens.float()},
        update=theta_local - group.theta_global,
        score=_score(group, options, similarity_scores(raw, received)),
        shared=theta_personal,
        statistics={
            "peers_received": received.sum(1),
            "peers_passed": peer_anchor.passed,
            "similarity": chosen.where(received, torch.nan),
        },
    )


def _score(group: SiteGroup, options: SapePlusOptions, similarity_score: Tensor) -> Tensor:
    return similarity_score * group.row_counts if options.weigh_rows else similarity_score


def _similarities(group: SiteGroup, received: Tensor, options: SapePlusOptions) -> tuple[Tensor, Tensor]:
    """The paper's, which weigh the global step, and those that peers are chosen by."""
    if options.similarity == "raw":
        raw = similarities(group, _raw_options(options, options.influence))
        return raw, raw
    if group.private is not None:
        private = partial(_private_outputs, group, group.private)
        return similarities(group, _raw_options(options, 0.0)), _centred(group, received, options, private)
    return _exact_similarities(group, received, options)


def _raw_options(options: SapePlusOptions, influence: float) -> SapeOptions:
    return SapeOptions(influence=influence, similarity_batch=options.similarity_batch)


def _exact_similarities(group: SiteGroup, received: Tensor, options: SapePlusOptions) -> tuple[Tensor, Tensor]:
    """Both on the same rows, about which every peer is asked once."""

    @cache
    def asked() -> tuple[Tensor, Tensor, list[Answers]]:
        x, present = group.sample_rows(options.similarity_batch, Purpose.SIMILARITY_ROWS)
        return x, present, list(compared_answers(group, x))

    def alike() -> Tensor:
        x, present, found = asked()
        return alike_on(group, x, present, "flattened", found)

    own, models = group.state["theta_personal"], group.peers.models
    raw = combined(options.influence, alike, lambda: weight_similarity(own, models))
    return raw, _centred(group, received, options, lambda: _centred_by(group, *asked()))


def _centred(group: SiteGroup, received: Tensor, options: SapePlusOptions, outputs: Callable[[], Tensor]) -> Tensor:
    own, models = group.state["theta_personal"], group.peers.models
    held = received.to(own.dtype)
    return combined(options.influence, outputs, lambda: centred_weights(own, models, held, group.theta_global))


def _private_outputs(group: SiteGroup, private: PrivateUse) -> Tensor:
    """Of all rows, and noised. The paper's similarities are of weights alone then: outputs are paid for once."""
    exact = mean_over_all_rows(group, lambda some, x, present: _centred_by(some, x, present, compared_answers(some, x)))
    return private.means(exact, group.peers.received, Purpose.SIMILARITY_ROWS)


def _centred_by(group: SiteGroup, x: Tensor, present: Tensor, found: Iterable[Answers]) -> Tensor:
    own, model = group.state["theta_personal"], group.trainer.model
    answers = own.new_zeros((len(group.peers.models), group.size, x.shape[1], model.classes))
    for sites, peers, some in found:
        answers[peers, sites] = some
    centred = group.task.centred
    return centred_outputs(
        centred(model.outputs(own, x)), centred(answers), group.peers.received.to(own.device), present
    )


def _listens(group: SiteGroup, options: SapePlusOptions, peer_anchor: PeerAnchors) -> Tensor:
    """Which sites start among their peers, [G]: where those fit the site's rows better than the global model does, told
    the site's label mix. Without that, sites with the same labels would look like sites with the same concept."""
    if options.start != "adaptive":
        return peer_anchor.present & (options.start == "peers")
    if group.private is not None:
        return peer_anchor.present & (_advantage(group, group.private, peer_anchor) > 0)
    globally = group.losses(group.everywhere(group.theta_global), _told(group))
    return peer_anchor.present & (group.losses(peer_anchor.theta) < globally)


def _advantage(group: SiteGroup, private: PrivateUse, peer_anchor: PeerAnchors) -> Tensor:
    """By how much peers fit a site's rows better, [G], in units of twice the largest advantage; asked in two steps."""
    rows = group.row_counts.unsqueeze(1)
    globally = group.record_losses(group.everywhere(group.theta_global), _told_privately(group, private))
    ahead = (globally - group.record_losses(peer_anchor.theta)) / (2 * LARGEST_ADVANTAGE)
    says = (ahead.clamp(-0.5, 0.5) + 0.5).nan_to_num(nan=0) * group.present
    everybody = torch.ones_like(rows, dtype=torch.bool)
    return private.means(says.sum(1, keepdim=True) / rows, everybody, Purpose.START_ROWS).squeeze(1) - 0.5


def _told(group: SiteGroup) -> Tensor | float:
    """What a site's label mix adds to the global model's outputs, [G, 1, K]; numbers have no mix."""
    if group.task.told is None:
        return 0.0
    return group.task.told(group.label_counts, group.row_counts.unsqueeze(1)).unsqueeze(1)


def _told_privately(group: SiteGroup, private: PrivateUse) -> Tensor | float:
    """The same from noised shares. A record has one class, so the shares of classes move by 1 / n together."""
    if group.task.told is None:
        return 0.0
    rows, counts = group.row_counts.unsqueeze(1), group.label_counts
    everything = torch.ones_like(counts, dtype=torch.bool)
    norm = 1.0 if group.task.labels == "class" else None
    shares = private.means(counts / rows, everything, Purpose.LABEL_SHARES, record_norm=norm)
    return group.task.told(shares * rows, rows).unsqueeze(1)


def _among_peers(group: SiteGroup, peer_anchor: PeerAnchors) -> Tensor:
    """Half own model, half peers'; all peers' for a site that never took part and has no model of its own."""
    own = group.state["theta_personal"]
    newcomer = (own == group.theta_initial).all(1, keepdim=True)
    return torch.where(newcomer, peer_anchor.theta, (own + peer_anchor.theta) / 2)


def _personal_step(group: SiteGroup, options: SapePlusOptions, start: Tensor, peer_anchor: PeerAnchors) -> Tensor:
    train = group.train_averaged if options.averaging else group.train
    epochs = options.personal_epochs or 2 * group.local_epochs
    return train(start, _anchored(group, options, peer_anchor), Purpose.PERSONAL_BATCHES, epochs)


def personal_models(group: SiteGroup, options: SapePlusOptions) -> Tensor:
    """What each site uses: its model where it lives among peers, otherwise the newest global model made its own."""
    models = group.state["theta_personal"].clone()
    alone = [site for site, listens in enumerate(group.state["listens"].tolist()) if not listens]
    if alone:
        models[alone] = from_common(group.only(alone), options)
    return models


def from_common(group: SiteGroup, options: SapePlusOptions) -> Tensor:
    """The personal step without peers."""
    newest = group.everywhere(group.theta_global)
    return _personal_step(group, options, newest, PeerAnchors.nobody(newest))


def _anchored(group: SiteGroup, options: SapePlusOptions, peer_anchor: PeerAnchors) -> Objective:
    if options.pseudo_rows == 0:
        return LocalLoss()
    strength = options.pseudo_rows / (options.pseudo_rows + group.row_counts)
    thetas = (peer_anchor.theta, group.everywhere(group.theta_global))
    answers = [group.compared(theta) for theta in thetas] if options.influence > 0 else []
    anchors = Anchors.stacked(thetas, answers, (strength * peer_anchor.present, strength))
    return CosineAnchored(anchors, options.influence, "flattened")


def releases(options: SapePlusOptions, local_epochs: int) -> Releases:
    """Similarities pay for the score where it is made of them, and for the model they lead to otherwise."""
    reads_outputs, scored = options.influence > 0, options.similarity == "raw"
    similar = PrivateQuery(Purpose.SIMILARITY_ROWS, "similarity_score" if scored else "theta_personal")
    start = (PrivateQuery(Purpose.LABEL_SHARES, "theta_personal"), PrivateQuery(Purpose.START_ROWS, "theta_personal"))
    return Releases(
        trainings=(
            PrivateTraining(Purpose.LOCAL_BATCHES, "update", local_epochs),
            PrivateTraining(Purpose.PERSONAL_BATCHES, "theta_personal", options.personal_epochs or 2 * local_epochs),
        ),
        queries=((similar,) if reads_outputs else ()) + (start if options.start == "adaptive" else ()),
        free=() if reads_outputs and scored else ("similarity_score",),
        notes=("Peers are compared on all rows, whatever similarity_batch says; scores count weights alone.",),
    )


ALGORITHM = Algorithm(
    name="sapefl-plus",
    title="SAPE-FL+",
    source="this project: SAPE-FL with centred similarity, an adaptive start and averaged iterates",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=lambda theta, sites: {**personal_state(theta, sites), "listens": torch.zeros(sites)},
    site_round=site_round,
    personal_models=personal_models,
    score_bound=lambda facts: float(max(facts.most_peers, 1) * facts.largest_site),
    relays_models=True,
    options=SapePlusOptions,
    releases=releases,
    from_common=from_common,
)
