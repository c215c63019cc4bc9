"""How alike are two models? Eq. 7 and Eq. 9-11, for a group of sites against all their peers at once.

Shapes: G sites, J peer models, P weights, m rows of the site's own data, K classes.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.linalg import vector_norm

OutputForm = Literal["flattened", "per_sample"]


def clipped_cosine(a: Tensor, b: Tensor) -> Tensor:
    """max(0, cos(a, b)) along the last dimension."""
    return clipped((a * b).sum(-1), vector_norm(a, dim=-1) * vector_norm(b, dim=-1))


def clipped(products: Tensor, norms: Tensor) -> Tensor:
    """max(0, products / norms). A vector that is zero, or too large to have a norm, is like nothing: 0, never NaN.

    `relu` and not `clamp`, whose gradient at a cosine of 0 is one-sided: it would throw a zero vector to infinity.
    """
    cosine = torch.relu(products / norms.clamp(min=torch.finfo(norms.dtype).tiny))
    return cosine.clamp(max=1).nan_to_num(nan=0)


def vartheta(a: Tensor, b: Tensor) -> Tensor:
    """Dissimilarity in [0, 1] (Eq. 7): 1 - max(0, cos(a, b))."""
    return 1 - clipped_cosine(a, b)


def output_similarity(own: Tensor, peers: Tensor, present: Tensor, form: OutputForm) -> Tensor:
    """How alike site and peer answer on the site's own rows (Eq. 10), [..., G].

        S~_cj = 1 - vartheta(f(theta_c, D_c), f(theta_j, D_c))

    ``own`` [G, m, K]; ``peers`` [..., G, m, K]; ``present`` [G, m] is 0 on padding. ``flattened`` takes one cosine over
    all outputs; ``per_sample`` the mean of one cosine a row, which one record can move by at most 1/m. No row at all is
    like nothing.
    """
    if form == "flattened":
        kept = present.unsqueeze(-1)
        return clipped_cosine((own * kept).flatten(-2), (peers * kept).flatten(-2))
    rows = clipped_cosine(own, peers) * present
    return rows.sum(-1) / present.sum(-1).clamp(min=1)


def weight_similarity(own: Tensor, peers: Tensor, asked: Tensor | None = None) -> Tensor:
    """How aligned the weights are (Eq. 11), [G, J], as one matrix product.

    S^_cj = 1 - vartheta(theta_c, theta_j)

    Where only few pairs are ``asked`` for, bool [G, J], only those are multiplied, and the others are 0.
    """
    products = own @ peers.T if asked is None or not few(asked) else _some_products(own, peers, asked)
    return clipped(products, torch.outer(vector_norm(own, dim=1), vector_norm(peers, dim=1)))


def few(pairs: Tensor) -> bool:
    """Whether to go through the pairs [G, J] of a mask one by one, in main memory: they have to be so few, since a
    processor multiplies whole matrices many times faster than single rows."""
    return pairs.device.type == "cpu" and 64 * int(pairs.sum()) < pairs.numel()


def _some_products(own: Tensor, peers: Tensor, asked: Tensor) -> Tensor:
    products = own.new_zeros(asked.shape)
    for site, others in enumerate(asked):
        products[site, others] = peers[others] @ own[site]
    return products


def combined(influence: float, output: Callable[[], Tensor], weight: Callable[[], Tensor]) -> Tensor:
    """influence * output + (1 - influence) * weight, the mixture of Eq. 6 and Eq. 9.

    At an end the other part is not computed: influence 0 reads no data, influence 1 no weights.
    """
    if influence == 0:
        return weight()
    if influence == 1:
        return output()
    return influence * output() + (1 - influence) * weight()


def similarity_scores(similarity: Tensor, received: Tensor) -> Tensor:
    """s_c = sum_j S_cj over all peers the site received, filtered or not; the only scalar that leaves a site."""
    return (similarity * received).sum(1)
