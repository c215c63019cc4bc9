"""SAPE-FL with what earned its place beside the paper's form: a variant of ours, not the paper's.

What differs from `sapefl`:

* peers are chosen by similarity around the mean (sape/centred.py) and kept where they are more alike than the average;
* a site *listens* where its peers' model explains clearly more of its rows than the global one, by ``margin`` at least,
  after both were told the site's labels (sape/label_mix.py). Other sites are served by the global model: peers that
  merely saw the same labels are a little ahead of it, and fine-tuning makes up for that;
* sites that call the same things by other names still look for the same features. So all share one body, and a listener
  puts a head of its own kind on it, half its own and half its peers'. It trains both from there on the plain loss;
  nobody is anchored to anything;

      theta_c <- (phi_G, (h_c + h_peers) / 2), trained E epochs;      Delta_c = (phi_c - phi_G, 0)

  Its update moves the body alone: its head would contradict the common one;
* a site that does not listen asks: its peers' model, told the site's labels, says what it expects of each row, and that
  counts beside the row's own label, the more the fewer rows there are (sape/advice.py). Peers have not seen these rows
  and cannot know them by heart;
* there is one training a round, and peers are given the model so trained;
* what a site uses is made of the newest body under a listener's own head, or of the newest global model, as in
  `fedavg-ft-plus`: freshly, so that nobody is left with an old model for having been sampled long ago;
* the global step weighs a site by s_c n_c, the paper's raw score times its rows: large sites count for more, as in
  FedAvg.

Each part can be switched off. The control is `fedavg-ft-plus`: all of this without peers. A model whose head nobody
named (``head_start`` at its end) is all head: a listener then mixes whole models.

A task whose loss is one of whole batches (Cox) has no records to take a standard error of: there a site listens where
its peers' loss is lower. Numbers have no label mix, so that no bias is fitted to them.

Private form: the training is DP-SGD. Centred output similarities are noised as `sapefl`'s are, and s_c then counts
weights alone, which are private already: peers are asked about once a round. Whether a site listens decides where its
training begins: its label shares and its mean advantage with those peers, record by record and cut at
``LARGEST_ADVANTAGE``, are noised and paid for, and it listens where that advantage is positive. What peers are given
follows from what was paid for. What `personal_models` trains stays.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Final, Literal

import torch
from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.fedavg_ft_plus import OwnModelOptions, advised, common_base, from_common, made_own
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
from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.centred import above_own_mean, centred_outputs, centred_weights
from secure_sapefl.sape.label_mix import clearly_positive, fitted_biases
from secure_sapefl.sape.similarity import combined, similarity_scores, weight_similarity
from secure_sapefl.streams import Purpose

LARGEST_ADVANTAGE: Final = 2.0
"""In a private study, the most one record may say for or against a site's peers: a difference of log-likelihoods."""


class SapePlusOptions(OwnModelOptions):
    advice: float = Field(48.0, ge=0, description="as how many rows peers' word on a label counts; 0: nobody is asked")
    influence: float = Field(0.5, ge=0, le=1, description="output (1) against weight (0) similarity; the paper's delta")
    similarity: Literal["centred", "raw"] = "centred"
    sharpness: float = Field(4.0, ge=0, description="peers are weighed by similarity to this power")
    start: Literal["adaptive", "local", "peers"] = "adaptive"
    margin: float = Field(0.2, ge=0, description="how much more than the global model a listener's peers explain")
    own_share: float = Field(0.5, ge=0, le=1, description="of its own head in a listener's, the rest is its peers'")
    weigh_rows: bool = Field(True, description="s_c n_c in the global step instead of s_c")
    similarity_batch: int = Field(32, ge=1, description="rows of a site on which peers are compared")


def site_round(group: SiteGroup, options: SapePlusOptions) -> Contribution:
    with group.clock.phase("similarity"):
        received = group.peers.received.to(group.theta_global.device)
        raw, chosen = _similarities(group, received, options)
        weights = above_own_mean(chosen, received, options.sharpness)
        peer_anchor = peer_anchors(weights, received, group.peers.models, 0.0)
        listens = _listens(group, options, peer_anchor)
    with group.clock.phase("local"):
        start = _under_heads(group, listens, _among_peers(group, options, peer_anchor))
        asked = torch.where(peer_anchor.present.unsqueeze(1), peer_anchor.theta, group.theta_global)
        theta = group.train(start, advised(group, options, asked, ~listens), Purpose.LOCAL_BATCHES)
    return Contribution(
        state={"theta_personal": theta, "listens": listens.float()},
        update=_under_heads(group, listens, torch.zeros_like(theta), theta - group.theta_global),
        score=_score(group, options, similarity_scores(raw, received)),
        shared=theta,
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
    """Which sites listen to their peers, [G]."""
    if options.start != "adaptive":
        return peer_anchor.present & (options.start == "peers")
    if group.private is not None:
        return peer_anchor.present & (_advantage(group, options, group.private, peer_anchor) > 0)
    globally = group.everywhere(group.theta_global)
    if group.task.batch_loss is not None:
        return peer_anchor.present & (group.losses(peer_anchor.theta) < group.losses(globally))
    common, peers = group.outputs(globally), group.outputs(peer_anchor.theta)
    answers = (_frequencies(group, common), _shifted(group, common), _shifted(group, peers))
    nothing, common, peers = (group.task.losses(one, group.labels) for one in answers)
    ahead = (_lead(nothing, common, peers, options.margin) * group.present).sum(1) > 0
    return peer_anchor.present & ahead & clearly_positive(common - peers, group.present)


def _lead(nothing: Tensor, common: Tensor, peers: Tensor, margin: float) -> Tensor:
    """By how much peers are ahead at each row, less the margin, [G, n], from three losses. The margin is a share of
    what the common model explains: what it is better by than one that knows nothing but how frequent labels are."""
    return (common - peers) - margin * (nothing - common).relu()


def _shifted(group: SiteGroup, outputs: Tensor) -> Tensor:
    """With a bias that was fitted for each label, [G, n, K]; numbers have none."""
    if group.task.label_shift is None:
        return outputs
    biases = fitted_biases(outputs, group.label_indicators, group.present, exclusive=_exclusive(group))
    return outputs + biases.unsqueeze(1)


def _frequencies(group: SiteGroup, outputs: Tensor) -> Tensor:
    """Like ``outputs``, of who knows nothing but these biases: to them all rows of a site are one."""
    nothing = torch.zeros_like(outputs)
    if group.task.label_shift is None:
        return nothing
    rows = group.present.sum(1, keepdim=True)
    shares = (group.label_counts / rows.clamp(min=1)).unsqueeze(1)
    return nothing + fitted_biases(nothing[:, :1], shares, rows, exclusive=_exclusive(group)).unsqueeze(1)


def _exclusive(group: SiteGroup) -> bool:
    return group.task.labels == "class"


def _advantage(group: SiteGroup, options: SapePlusOptions, private: PrivateUse, peer_anchor: PeerAnchors) -> Tensor:
    """The mean lead of peers, [G], in units of twice the largest advantage; asked in two steps."""
    rows, shift = group.row_counts.unsqueeze(1), _private_shift(group, private)
    common, peers = group.outputs(group.everywhere(group.theta_global)), group.outputs(peer_anchor.theta)
    answers = (torch.zeros_like(common) + shift, common + shift, peers)
    nothing, common, peers = (group.task.losses(one, group.labels) for one in answers)
    lead = _lead(nothing, common, peers, options.margin)
    says = ((lead / (2 * LARGEST_ADVANTAGE)).clamp(-0.5, 0.5) + 0.5).nan_to_num(nan=0) * group.present
    everybody = torch.ones_like(rows, dtype=torch.bool)
    return private.means(says.sum(1, keepdim=True) / rows, everybody, Purpose.START_ROWS).squeeze(1) - 0.5


def _private_shift(group: SiteGroup, private: PrivateUse) -> Tensor | float:
    """What a site's label mix adds to the global model's outputs, [G, 1, K], from noised shares; numbers have no mix. A
    record has one class, so the shares of classes move by 1 / n together."""
    if group.task.label_shift is None:
        return 0.0
    rows, counts = group.row_counts.unsqueeze(1), group.label_counts
    everything = torch.ones_like(counts, dtype=torch.bool)
    norm = 1.0 if group.task.labels == "class" else None
    shares = private.means(counts / rows, everything, Purpose.LABEL_SHARES, record_norm=norm)
    return group.task.label_shift(shares * rows, rows).unsqueeze(1)


def _among_peers(group: SiteGroup, options: SapePlusOptions, peer_anchor: PeerAnchors) -> Tensor:
    """A site's own model and its peers', mixed, [G, P]; its peers' alone for a site that never took part."""
    own = group.state["theta_personal"]
    newcomer = (own == group.theta_initial).all(1, keepdim=True)
    return torch.where(newcomer, peer_anchor.theta, torch.lerp(peer_anchor.theta, own, options.own_share))


def _under_heads(group: SiteGroup, listens: Tensor, heads: Tensor, models: Tensor | None = None) -> Tensor:
    """``models`` [G, P], the global one where not given, with the heads of ``heads`` [G, P] where a site listens."""
    model = group.trainer.model
    split = model.head_start % model.parameters  # without a named head all is head
    of_head = torch.arange(model.parameters, device=heads.device) >= split
    below = group.everywhere(group.theta_global) if models is None else models
    return torch.where(listens.unsqueeze(1) & of_head, heads, below)


def personal_models(group: SiteGroup, options: SapePlusOptions) -> Tensor:
    """What each site makes of the common model, under a head of its own where it listens."""
    listens, own = group.state["listens"] > 0, group.state["theta_personal"]
    return made_own(group, options, _under_heads(group, listens, own, common_base(group)))


def releases(options: SapePlusOptions, local_epochs: int) -> Releases:
    """Similarities pay for the score where it is made of them, and for the update they lead to otherwise. The model
    that peers get follows from the update's training."""
    reads_outputs, scored = options.influence > 0, options.similarity == "raw"
    similar = PrivateQuery(Purpose.SIMILARITY_ROWS, "similarity_score" if scored else "update")
    start = (PrivateQuery(Purpose.LABEL_SHARES, "update"), PrivateQuery(Purpose.START_ROWS, "update"))
    queries = ((similar,) if reads_outputs else ()) + (start if options.start == "adaptive" else ())
    return Releases(
        trainings=(PrivateTraining(Purpose.LOCAL_BATCHES, "update", local_epochs),),
        queries=queries,
        free=("theta_personal",) if reads_outputs and scored else ("similarity_score", "theta_personal"),
        notes=(
            "Peers are compared on all rows, whatever similarity_batch says; scores count weights alone.",
            "Nobody is asked about labels in a round, whatever advice says: that would tell label shares.",
        ),
    )


def initial_state(theta: Tensor, sites: int) -> dict[str, Tensor]:
    return {**personal_state(theta, sites), "listens": torch.zeros(sites)}


ALGORITHM = Algorithm(
    name="sapefl-plus",
    title="SAPE-FL+",
    source="this project: SAPE-FL with one body, heads of one's own kind where they fit better, averaged iterates",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=initial_state,
    site_round=site_round,
    personal_models=personal_models,
    score_bound=lambda facts: float(max(facts.most_peers, 1) * facts.largest_site),
    relays_models=True,
    shows_updates=True,
    smoothing=lambda options: options.smoothing,
    options=SapePlusOptions,
    releases=releases,
    from_common=from_common,
)
