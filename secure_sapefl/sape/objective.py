"""The dual-anchored objective of Eq. 5, in both readings of its coefficients.

    min  L_c(theta) + S^P_c(theta, theta_bar_c) + S^G_c(theta, theta_G)

``cosine`` differentiates Eq. 6 itself. ``proximal`` follows the steps of the paper's appendix: S is evaluated once a
round and multiplies ||theta - anchor||^2. The anchors stand still, so their outputs on the site's rows are computed
once a round, and the gradient of every term that reads no data is in closed form (`Pull`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.linalg import vecdot, vector_norm

from secure_sapefl.sape.similarity import OutputForm, combined, output_similarity, vartheta
from secure_sapefl.training.objective import Batch, CrossEntropy, Pull, cross_entropy, record_cross_entropy


@dataclass(frozen=True, slots=True)
class Anchors:
    """The A anchors of a group of sites: weights, their outputs on each site's own rows, and how hard each pulls.

    A strength is 0 where a site has no such anchor this round (no peer passed the filter).
    """

    theta: Tensor  # [G, A, P]
    norm: Tensor  # [G, A]
    outputs: Tensor | None  # [G, n, A, K]; None where nobody asks for outputs (influence 0)
    strength: Tensor  # [G, A]

    @classmethod
    def of(cls, thetas: Sequence[Tensor], outputs: Sequence[Tensor], strengths: Sequence[Tensor]) -> "Anchors":
        """From each anchor's weights ([G, P], or [P] where all sites share it), outputs [G, n, K] (for none or for all
        of them) and strength [G]."""
        theta = torch.stack([one.expand(len(strengths[0]), -1) for one in thetas], 1)
        stacked = torch.stack(list(outputs), 2) if outputs else None
        return cls(theta, vector_norm(theta, dim=-1), stacked, torch.stack(list(strengths), 1))

    def narrow(self, sites: slice) -> "Anchors":
        outputs = None if self.outputs is None else self.outputs[sites]
        return Anchors(self.theta[sites], self.norm[sites], outputs, self.strength[sites])

    def on(self, batch: Batch) -> Tensor:
        """f(anchor, x) for the rows of a batch, looked up: [A, G, B, K]."""
        assert self.outputs is not None
        sites = torch.arange(len(batch.rows), device=batch.rows.device).unsqueeze(1)
        return self.outputs[sites, batch.rows].movedim(2, 0)

    def unlike(self, theta: Tensor) -> Tensor:
        """vartheta(theta, anchor) for every anchor, [G, A]."""
        return vartheta(theta.unsqueeze(1), self.theta)

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
            return 1 - released(output_similarity(outputs, self.outputs.movedim(2, 0), present, form).T)

        return combined(influence, unlike_outputs, lambda: self.unlike(theta))


@dataclass(frozen=True, slots=True)
class CosineAnchored:
    """Eq. 6 as a differentiable penalty:

    S = influence * vartheta(f(theta, D), f(anchor, D)) + (1 - influence) * vartheta(theta, anchor)
    """

    anchors: Anchors
    influence: float
    form: OutputForm

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        local = cross_entropy(logits, batch)
        if self.influence == 0:
            return local
        present = (batch.weight > 0).to(logits.dtype)
        unlike = 1 - output_similarity(logits, self.anchors.on(batch), present, self.form)
        penalty: Tensor = vecdot(self.anchors.strength, unlike.T)
        return local + self.influence * penalty

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Eq. 6 with one cosine a record, whatever ``form`` says: only that is a sum over records."""
        local = record_cross_entropy(logits, batch)
        if self.influence == 0:
            return local
        unlike = vartheta(logits, self.anchors.on(batch))  # [A, G, B]
        penalty = torch.einsum("ga,agb->gb", self.anchors.strength, unlike)
        return local + self.influence * penalty

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        if self.influence == 1:
            return None
        penalty: Tensor = vecdot(self.anchors.strength, self.anchors.unlike(theta))
        return (1 - self.influence) * penalty

    def weight_pull(self, theta: Tensor) -> Pull | None:
        """d/dtheta of 1 - max(0, cos(theta, a)) = -(a / (|theta||a|) - cos * theta / |theta|^2) where cos > 0."""
        if self.influence == 1:
            return None
        tiny = torch.finfo(theta.dtype).tiny
        size = vector_norm(theta, dim=1).clamp(min=tiny)
        products = torch.bmm(theta.unsqueeze(1), self.anchors.theta.transpose(1, 2)).squeeze(1)
        norms = (size.unsqueeze(1) * self.anchors.norm).clamp(min=tiny)
        weight = (1 - self.influence) * self.anchors.strength * (products > 0)
        own = (weight * products / norms).sum(1) / size / size  # size**2 would vanish before a small size does
        return Pull(own, -weight / norms, self.anchors.theta)

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.anchors.narrow(sites), self.influence, self.form)


@dataclass(frozen=True, slots=True)
class ProximalAnchored(CrossEntropy):
    """L_c + sum over anchors of S * ||theta - anchor||^2 with S, here the strength, fixed for the round."""

    anchors: Anchors

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        distances = (theta.unsqueeze(1) - self.anchors.theta).square().sum(2)
        penalty: Tensor = vecdot(self.anchors.strength, distances)
        return penalty

    def weight_pull(self, theta: Tensor) -> Pull | None:  # noqa: ARG002 - quadratic: coefficients do not depend on it
        double = 2 * self.anchors.strength
        return Pull(double.sum(1), -double, self.anchors.theta)

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.anchors.narrow(sites))
