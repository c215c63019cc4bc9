"""Similarity around the mean: what sets a peer apart from the crowd, instead of what all models share.

Models that started together and were averaged together all have cosines near 1. Subtracting the mean of the models a
site holds, its own among them, leaves what is particular to each:

    S^_cj = max(0, cos(theta_c - m, theta_j - m)),      S~_cj = mean over x of max(0, cos(p_c - p, p_j - p))

with m the mean of the weights and p(x) the mean of the answers, in a classification after softmax. Not in the paper;
`sapefl-plus` uses it to choose peers.
"""

import torch
from torch import Tensor

from secure_sapefl.sape.similarity import clipped_cosine


def centred_outputs(mine: Tensor, theirs: Tensor, received: Tensor, present: Tensor) -> Tensor:
    """S~ around the mean, [G, J], from answers ``mine`` [G, m, K], ``theirs`` [J, G, m, K]; ``received`` is [G, J]."""
    held = received.T[:, :, None, None]
    mean = (mine + (theirs * held).sum(0)) / (1 + received.sum(1))[:, None, None]
    rows = clipped_cosine(mine - mean, theirs - mean) * present
    return (rows.sum(-1) / present.sum(-1).clamp(min=1)).T


def centred_weights(own: Tensor, peers: Tensor, received: Tensor, origin: Tensor) -> Tensor:
    """S^ around the mean, [G, J], by matrix products alone; ``origin`` [P] is near all models, against cancellation."""
    own, peers = own - origin, peers - origin
    mean = (own + received @ peers) / (1 + received.sum(1, keepdim=True))
    mine = own - mean
    products = mine @ peers.T - (mine * mean).sum(1, keepdim=True)
    squares = peers.square().sum(1) - 2 * mean @ peers.T + mean.square().sum(1, keepdim=True)
    norms = mine.norm(dim=1, keepdim=True) * squares.clamp(min=0).sqrt()
    return torch.relu(products / norms.clamp(min=torch.finfo(norms.dtype).tiny)).clamp(max=1)


def above_own_mean(similarity: Tensor, received: Tensor, sharpness: float) -> Tensor:
    """Weights [G, J] of the peers a site listens to: those more alike than its average peer, to a power."""
    count = received.sum(1, keepdim=True).clamp(min=1)
    mean = (similarity * received).sum(1, keepdim=True) / count
    return similarity.pow(sharpness) * (received & (similarity > mean))
