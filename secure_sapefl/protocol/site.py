"""The site's half of a round (Algorithm 2) around the method's own maths: absorb, open, answer, protect.

A site keeps the global model itself. It is handed the server's aggregates and its peers' sealed models, and hands back
one `RoundUpload`. Everything that needs a key goes through a `SiteCodec`, which only sites hold.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sapefl_crypto.errors import AggregateRejected, FrameRejected
from secure_sapefl.algorithms.base import Algorithm, Contribution
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.codec import SiteCodec, Vector
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, SealedModel, SiteId

_LARGEST_WEIGHT = 1e3  # three layers of such weights still answer in float32; NaN in one peer must not reach another

GlobalStep = Callable[[Tensor, Tensor], Tensor]
"""theta_G and the mean update in, the next theta_G out."""


def absorb(
    theta_global: Tensor, outcome: RoundOutcome, codec: SiteCodec, study: str, step: GlobalStep = torch.add
) -> Tensor:
    """theta_G after a round (Eq. 12). Nothing came, or all scores were zero: theta_G stays as it is."""
    if outcome.aggregate is None:
        return theta_global
    mean = codec.decrypt(outcome.aggregate, study=study, round_index=outcome.round_index)
    return theta_global if mean is None else step(theta_global, torch.from_numpy(mean).to(theta_global.device))


def require_contributors(outcome: RoundOutcome, least: int) -> None:
    """Refuse a sum of fewer than ``least`` sites before it is opened: their noise together would hide too little."""
    if outcome.aggregate is not None and 0 < len(outcome.weights) < least:
        raise AggregateRejected(
            "minimum cohort", f"{len(outcome.weights)} contributors, the study opens no sum of fewer than {least}."
        )


def open_peers(
    invitations: Sequence[Invitation], theta_initial: Tensor, codec: SiteCodec, study: str
) -> tuple[tuple[SiteId, ...], Peers, tuple[Refusal, ...]]:
    """The peers of a group of sites, each model opened once: their names, who was given which, whose was no good.

    A peer without a model stands where everybody started. One whose model does not open or is not a model of this
    study is left out: the server cannot look inside, so its peers must.
    """
    sealed = {model.sender: model for invitation in invitations for model in invitation.models}
    names = tuple(sorted({name for invitation in invitations for name in invitation.peers}))
    column = {name: j for j, name in enumerate(names)}
    models = theta_initial.repeat(max(len(names), 1), 1)
    received = torch.zeros((len(invitations), len(models)), dtype=torch.bool)
    for g, invitation in enumerate(invitations):
        received[g, [column[name] for name in invitation.peers]] = True
    refusals = []
    for name in sorted(sealed.keys() & column.keys()):
        try:
            vector = _opened(sealed[name], codec, study, len(theta_initial))
        except FrameRejected as error:
            refusals.append(Refusal(name, f"its model was left out by its peers. {error}"))
            received[:, column[name]] = False
        else:
            models[column[name]] = torch.from_numpy(vector).to(models.device)
    return names, Peers(models, received.to(models.device)), tuple(refusals)


def _opened(sealed: SealedModel, codec: SiteCodec, study: str, parameters: int) -> Vector:
    vector = codec.open(sealed.blob, study=study, round_index=sealed.round_index, sender=sealed.sender)
    who = f"Site {sealed.sender!r}, round {sealed.round_index}"
    if len(vector) != parameters:
        raise FrameRejected(f"{who}: {len(vector)} values, the study's model has {parameters}.")
    if np.abs(vector).max() > _LARGEST_WEIGHT:
        raise FrameRejected(f"{who}: a weight is beyond ±{_LARGEST_WEIGHT:g}; such a model answers with infinity.")
    return vector


@dataclass(frozen=True, slots=True)
class GroupRound:
    """What a group of sites got out of a round. ``healthy`` sites keep the new state; the others keep the old one."""

    contribution: Contribution
    healthy: NDArray[np.bool_]
    answers: tuple[Answer, ...]
    refusals: tuple[Refusal, ...]


def run_round(algorithm: Algorithm, options: Any, group: SiteGroup, names: Sequence[SiteId]) -> GroupRound:
    """The method's round for a group of sites."""
    contribution = algorithm.site_round(group, options)
    _require_form(contribution, algorithm, len(names))
    return concluded(contribution, names, private=group.private is not None)


def _require_form(contribution: object, algorithm: Algorithm, sites: int) -> None:
    """A method may be anybody's file."""
    more = "`secure-sapefl check-method FILE.py` says more."
    if not isinstance(contribution, Contribution):
        found = type(contribution).__name__
        raise BadInput(f"A round of the method {algorithm.name!r} gave {found}, expected a Contribution. {more}")
    leaving = zip(("update", "score", "shared"), _leaving(contribution), strict=True)
    for what, tensor in (*leaving, *contribution.state.items()):
        if tensor is not None and tensor.shape[:1] != (sites,):
            raise BadInput(
                f"A round of the method {algorithm.name!r} gave {what!r} of shape {tuple(tensor.shape)} for {sites} "
                f"sites, expected a row for each. {more}"
            )


def concluded(contribution: Contribution, names: Sequence[SiteId], *, private: bool) -> GroupRound:
    """What becomes of it; a site whose training diverged withdraws instead of sending NaN.

    In a private study what leaves alone decides about that: what stays was trained without noise, and to withdraw
    because of it would tell of the records.
    """
    sound = _finite(_leaving(contribution), len(names))
    healthy = sound & _finite(contribution.state.values(), len(names))
    sent = sound if private else healthy
    refusals = tuple(
        Refusal(name, "training gave NaN or infinity; the site keeps its last model. Try a smaller learning rate.")
        for name, ok in zip(names, sent, strict=True)
        if not ok
    )
    return GroupRound(contribution, healthy, tuple(_answers(contribution, names, sent)), refusals)


def _leaving(contribution: Contribution) -> tuple[Tensor | None, ...]:
    return contribution.update, contribution.score, contribution.shared


def _finite(tensors: Iterable[Tensor | None], sites: int) -> NDArray[np.bool_]:
    """Which sites have numbers everywhere."""
    sound = np.ones(sites, dtype=np.bool_)
    for tensor in tensors:
        if tensor is not None:
            rows = tensor.reshape(sites, -1)
            extremes = torch.stack([rows.amin(1), rows.amax(1)])  # NaN where there is one
            sound &= torch.isfinite(extremes).all(0).cpu().numpy()
    return sound


def _answers(contribution: Contribution, names: Sequence[SiteId], sent: NDArray[np.bool_]) -> list[Answer]:
    leaving = _leaving(contribution)
    if all(part is None for part in leaving):
        return []
    updates, scores, shared = (None if part is None else part.cpu().numpy() for part in leaving)
    return [
        Answer(
            site=names[int(g)],
            similarity_score=0.0 if scores is None else float(scores[g]),
            update=None if updates is None else updates[g],
            theta_personal=None if shared is None else shared[g],
        )
        for g in np.flatnonzero(sent)
    ]
