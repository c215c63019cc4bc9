"""The dual-anchored objective of Eq. 5, in both readings of its coefficients.

    min  L_c(theta) + S^P_c(theta, theta_bar_c) + S^G_c(theta, theta_G)

``cosine`` differentiates Eq. 6 itself. ``proximal`` follows the steps of the paper's appendix: S is evaluated once a
round and multiplies ||theta - anchor||^2. The anchors stand still, so their outputs on the site's rows are computed
once a round, and the gradient of every term that reads no data is in closed form (`Pull`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor
from torch.linalg import vecdot, vector_norm

from secure_sapefl.sape.similarity import OutputForm, clipped, combined, output_similarity, vartheta
from secure_sapefl.tasks.base import as_answered
from secure_sapefl.training.objective import Batch, Pull, TaskLoss, mean_loss, record_losses, task_slope


@dataclass(frozen=True, slots=True)
class Anchors:
    """The A anchors of a group of sites: weights, their answers on each site's own rows, and how hard each pulls.

    A strength is 0 where a site has no such anchor this round (no peer passed the filter).
    """

    thetas: tuple[Tensor, ...]  # A of [G, P]
    norm: Tensor  # [G, A]
    outputs: Tensor | None  # [G, n, K, A], as the task compares them; None where nobody asks (influence 0)
    strength: Tensor  # [G, A]

    @classmethod
    def stacked(cls, thetas: Sequence[Tensor], outputs: Sequence[Tensor], strengths: Sequence[Tensor]) -> "Anchors":
        """From each anchor's weights ([G, P], or [P] where all sites share it), outputs [G, n, K] (for none or for all
        of them) and strength [G]."""
        rows = tuple(one.expand(len(strengths[0]), -1) for one in thetas)
        norm = torch.stack([vector_norm(one, dim=-1).expand(len(strengths[0])) for one in thetas], 1)
        return cls(rows, norm, torch.stack(list(outputs), 3) if outputs else None, torch.stack(list(strengths), 1))

    def narrow(self, sites: slice) -> "Anchors":
        outputs = None if self.outputs is None else self.outputs[sites]
        return Anchors(tuple(one[sites] for one in self.thetas), self.norm[sites], outputs, self.strength[sites])

    def on(self, batch: Batch) -> Tensor:
        """f(anchor, x) for the rows of a batch, looked up: [G, B, K, A]."""
        assert self.outputs is not None
        sites = torch.arange(len(batch.rows), device=batch.rows.device).unsqueeze(1)
        return self.outputs[sites, batch.rows]

    def unlike(self, theta: Tensor) -> Tensor:
        """vartheta(theta, anchor) for every anchor, [G, A]."""
        return torch.stack([vartheta(theta, one) for one in self.thetas], 1)

    def coefficients(
        self,
        theta: Tensor,
        outputs: Tensor | None,
        present: Tensor,
        influence: float,
        form: OutputForm,
        released: Callable[[Tensor], Tensor] = lambda exact: exact,
    ) -> Tensor:
        """S of Eq. 6 between ``theta`` [G, P] and every anchor, on all rows of each site, [G, A].

        ``released`` stands between the similarities of outputs, which read records, and all that is made of them.
        """

        def unlike_outputs() -> Tensor:
            assert outputs is not None
            assert self.outputs is not None
            return 1 - released(output_similarity(outputs, self.outputs.movedim(3, 0), present, form).T)

        return combined(influence, unlike_outputs, lambda: self.unlike(theta))


def towards(vectors: Tensor, anchors: Sequence[Tensor], norms: Tensor, strength: Tensor) -> Pull:
    """The gradient of the sum over anchors of strength * vartheta(vector, anchor), in closed form.

    d/dv of 1 - max(0, cos(v, a)) = -(a / (|v||a|) - cos * v / |v|^2) where cos > 0. Vectors [G, D]; A anchors [G, D]
    of the given ``norms`` [G, A]; strength [G, A].
    """
    size = _size(vectors).unsqueeze(1)
    scale = (size * norms).clamp(min=torch.finfo(vectors.dtype).tiny)
    cosine = clipped(torch.stack([_dots(vectors, anchor) for anchor in anchors], 1), scale)
    own = (strength * cosine / size / size).sum(1)  # size**2 would vanish before a small size does
    return Pull(own, -strength * (cosine > 0) / scale, tuple(anchors))


def _size(vectors: Tensor) -> Tensor:
    size: Tensor = vector_norm(vectors, dim=1).clamp(min=torch.finfo(vectors.dtype).tiny)
    return size


def _dots(a: Tensor, b: Tensor) -> Tensor:
    """<a_g, b_g>, [G]. On a processor `bmm` is the fastest for one long row and the slowest for several."""
    if len(a) > 1 and a.device.type == "cpu":
        dots: Tensor = vecdot(a, b)
        return dots
    return torch.bmm(a.unsqueeze(1), b.unsqueeze(2)).flatten()


@dataclass(frozen=True, slots=True)
class JointAnchor:
    """All anchors as one. While every anchor is on theta's side of the origin the max of Eq. 7 is silent, and they pull
    along one vector that stands still: a step reads it instead of A of them."""

    theta: Tensor  # [G, P], sum over anchors of strength * anchor / |anchor|
    enough: Tensor  # [G]

    @classmethod
    def from_anchors(cls, anchors: Anchors) -> "JointAnchor":
        """A cosine is at most 1, so sum_i strength_i cos_i above the sum of all strengths but one makes that one's
        cosine positive. The hundredth is for rounding."""
        scaled = anchors.strength / anchors.norm.clamp(min=torch.finfo(anchors.norm.dtype).tiny)
        theta = scaled[:, :1] * anchors.thetas[0]
        for index, one in enumerate(anchors.thetas[1:], 1):
            theta.addcmul_(scaled[:, index : index + 1], one)
        weakest = anchors.strength.where(anchors.strength > 0, torch.inf).amin(1)
        return cls(theta, anchors.strength.sum(1) - 0.99 * weakest)

    def narrow(self, sites: slice) -> "JointAnchor":
        return JointAnchor(self.theta[sites], self.enough[sites])

    def pull(self, theta: Tensor, share: float) -> Pull | None:
        """share * the gradient of sum_i strength_i vartheta(theta, anchor_i); None where some cosine may be negative.

        To know, the host looks at the numbers: a GPU would have to wait for it, so this is for the CPU. A compiled step
        does not look either.
        """
        if torch.compiler.is_compiling():
            return None
        size = _size(theta)
        alike = _dots(theta, self.theta) / size
        if not (alike > self.enough).all():
            return None
        return Pull(share * alike / size / size, (-share / size).unsqueeze(1), (self.theta,))


def _output_penalty(outputs: Tensor, answers: Tensor, strength: Tensor) -> tuple[Tensor, Tensor]:
    """sum over anchors of strength * -cos(outputs, anchor's outputs), [G], and its gradient in closed form: a fraction
    of the small tensors that Eq. 7 would leave behind at every step. Outputs [G, D], anchors' [G, D, A]."""
    size = vector_norm(outputs, dim=1, keepdim=True).clamp(min=torch.finfo(outputs.dtype).tiny)
    scale = size * vector_norm(answers, dim=1)
    alike = strength * clipped(torch.bmm(outputs.unsqueeze(1), answers).squeeze(1), scale)
    pulled = torch.bmm(answers, (strength * (alike > 0) / scale).nan_to_num(nan=0, posinf=0).unsqueeze(2))
    alike = alike.sum(1, keepdim=True)
    return -alike.squeeze(1), alike / size / size * outputs - pulled.squeeze(2)


class _OutputPenalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, outputs: Tensor, answers: Tensor, strength: Tensor) -> Tensor:
        penalty, gradient = _output_penalty(outputs, answers, strength)
        ctx.save_for_backward(gradient)
        return strength.sum(1) + penalty

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return outer.unsqueeze(1) * gradient, None, None


@dataclass(frozen=True, slots=True)
class CosineAnchored:
    """Eq. 6 as a differentiable penalty:

    S = influence * vartheta(f(theta, D), f(anchor, D)) + (1 - influence) * vartheta(theta, anchor)"""

    anchors: Anchors
    influence: float
    form: OutputForm
    joint: JointAnchor | None = None  # made for the sites that are about to be trained side by side

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        local = mean_loss(logits, batch)
        if self.influence == 0:
            return local
        strength, answers = self.influence * self.anchors.strength, batch.task.compared(logits)
        if self.form == "per_sample":
            present = (batch.weight > 0).to(logits.dtype)
            alike = output_similarity(answers, self.anchors.on(batch).movedim(3, 0), present, self.form)
            unlike: Tensor = vecdot(strength, 1 - alike.T)
            return local + unlike
        penalty: Tensor = _OutputPenalty.apply(*self._beside(answers, batch), strength)  # type: ignore[no-untyped-call]
        return local + penalty

    def slope(self, outputs: Tensor, batch: Batch) -> Tensor | None:
        """Of `loss`, where outputs are compared as they are, all at once."""
        local = task_slope(outputs, batch)
        if local is None or self.influence == 0:
            return local
        if self.form == "per_sample" or batch.task.compared is not as_answered:
            return None
        own, theirs = self._beside(outputs, batch)
        _, gradient = _output_penalty(own, theirs, self.influence * self.anchors.strength)
        return local.addcmul_(gradient.view_as(local), batch.weight.unsqueeze(2))

    def _beside(self, answers: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """A site's answers and its anchors' as vectors, [G, D] and [G, D, A]."""
        kept = batch.weight.unsqueeze(2)  # the same for all rows of a site, which no cosine sees, and 0 on padding
        return (answers * kept).flatten(1), (self.anchors.on(batch) * kept.unsqueeze(3)).flatten(1, 2)

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Eq. 6 with one cosine a record, whatever ``form`` says: only that is a sum over records."""
        local = record_losses(logits, batch)
        if self.influence == 0:
            return local
        unlike = vartheta(batch.task.compared(logits), self.anchors.on(batch).movedim(3, 0))  # [A, G, B]
        penalty = torch.einsum("ga,agb->gb", self.anchors.strength, unlike)
        return local + self.influence * penalty

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        if self.influence == 1:
            return None
        penalty: Tensor = vecdot(self.anchors.strength, self.anchors.unlike(theta))
        return (1 - self.influence) * penalty

    def weight_pull(self, theta: Tensor) -> Pull | None:
        if self.influence == 1:
            return None
        share = 1 - self.influence
        if self.joint is not None and (pull := self.joint.pull(theta, share)) is not None:
            return pull
        return towards(theta, self.anchors.thetas, self.anchors.norm, share * self.anchors.strength)

    def narrow(self, sites: slice) -> Self:
        anchors = self.anchors.narrow(sites)
        if self.joint is not None:
            return replace(self, anchors=anchors, joint=self.joint.narrow(sites))
        on_host = self.influence < 1 and anchors.strength.device.type == "cpu"
        return replace(self, anchors=anchors, joint=JointAnchor.from_anchors(anchors) if on_host else None)


@dataclass(frozen=True, slots=True)
class ProximalAnchored(TaskLoss):
    """L_c + sum over anchors of S * ||theta - anchor||^2 with S, here the strength, fixed for the round."""

    anchors: Anchors

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        distances = [(theta - one).square().sum(1) for one in self.anchors.thetas]
        penalty: Tensor = vecdot(self.anchors.strength, torch.stack(distances, 1))
        return penalty

    def weight_pull(self, theta: Tensor) -> Pull | None:  # noqa: ARG002 - quadratic: coefficients do not depend on it
        double = 2 * self.anchors.strength
        return Pull(double.sum(1), -double, self.anchors.thetas)

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.anchors.narrow(sites))
