"""How alike are two models? Eq. 7 and Eq. 9-11, for a group of sites against all their peers at once.

Shapes: G sites, J peer models, P weights, m rows of the site's own data, K classes.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.linalg import vector_norm

OutputForm = Literal["flattened", "per_sample"]


def clipped_cosine(a: Tensor, b: Tensor) -> Tensor:
    """max(0, cos(a, b)) along the last dimension; a zero vector is like nothing, and never NaN."""
    norms = vector_norm(a, dim=-1) * vector_norm(b, dim=-1)
    tiny = torch.finfo(norms.dtype).tiny
    cosine: Tensor = (a * b).sum(-1) / norms.clamp(min=tiny)
    return cosine.clamp(min=0, max=1)


def vartheta(a: Tensor, b: Tensor) -> Tensor:
    """Dissimilarity in [0, 1] (Eq. 7): 1 - max(0, cos(a, b))."""
    return 1 - clipped_cosine(a, b)


def output_similarity(own: Tensor, peers: Tensor, present: Tensor, form: OutputForm) -> Tensor:
    """How alike site and peer answer on the site's own rows (Eq. 10), [..., G].

        S~_cj = 1 - vartheta(f(theta_c, D_c), f(theta_j, D_c))

    ``own`` [G, m, K]; ``peers`` [..., G, m, K]; ``present`` [G, m] is 0 on padding. ``flattened`` takes one cosine over
    all outputs; ``per_sample`` the mean of one cosine a row, which one record can move by at most 1/m.
    """
    if form == "flattened":
        kept = present.unsqueeze(-1)
        return 1 - vartheta((own * kept).flatten(-2), (peers * kept).flatten(-2))
    rows = clipped_cosine(own, peers) * present
    return rows.sum(-1) / present.sum(-1)


def weight_similarity(own: Tensor, peers: Tensor) -> Tensor:
    """How aligned the weights are (Eq. 11), [G, J], as one matrix product.

    S^_cj = 1 - vartheta(theta_c, theta_j)
    """
    norms = torch.outer(vector_norm(own, dim=1), vector_norm(peers, dim=1))
    tiny = torch.finfo(norms.dtype).tiny
    return (own @ peers.T / norms.clamp(min=tiny)).clamp(min=0, max=1)


def combined_similarity(output: Tensor, weight: Tensor, influence: float) -> Tensor:
    """S_cj = influence * S~_cj + (1 - influence) * S^_cj (Eq. 9)."""
    return influence * output + (1 - influence) * weight


def similarity_scores(similarity: Tensor, received: Tensor) -> Tensor:
    """s_c = sum_j S_cj over all peers the site received, filtered or not; the only scalar that leaves a site."""
    return (similarity * received).sum(1)
