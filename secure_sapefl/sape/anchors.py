"""The peer anchor: whom a site listens to, and what they say together (Eq. 8)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from secure_sapefl.sape.similarity import few


@dataclass(frozen=True, slots=True)
class PeerAnchors:
    """``theta`` [G, P] is Eq. 8 where ``present`` [G] is true; elsewhere no peer passed and S^P is 0 this round."""

    theta: Tensor
    present: Tensor
    passed: Tensor  # how many peers passed the filter, [G]

    @classmethod
    def nobody(cls, theta: Tensor) -> "PeerAnchors":
        """For sites without a peer; ``theta`` [G, P] stands where nobody looks."""
        none = torch.zeros(len(theta), dtype=torch.bool, device=theta.device)
        return cls(theta, none, none.long())


def peer_anchors(similarity: Tensor, received: Tensor, peers: Tensor, threshold: float) -> PeerAnchors:
    """Similarity-weighted mean of the peers that pass the filter (Eq. 8), all sites in one matrix product.

    theta_bar_c = sum_j S_cj 1[S_cj > S_min] theta_j / sum_j S_cj 1[S_cj > S_min]
    """
    passing = received & (similarity > threshold)
    weights = similarity * passing
    total = weights.sum(1, keepdim=True)
    present = total.squeeze(1) > 0
    shares = weights / total.where(total > 0, 1.0)
    theta = torch.sparse.mm(shares.to_sparse(), peers) if few(passing) else shares @ peers
    return PeerAnchors(theta, present, passing.sum(1))
