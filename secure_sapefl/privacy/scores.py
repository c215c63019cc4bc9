"""The Gaussian mechanism on a site's output similarities.

    S~_cj = 1/n_c sum_i max(0, cos(f(theta_c, x_i), f(theta_j, x_i))),  j = 1..k

Every term lies in [0, 1] and n_c is a constant the site declared, so one record, added or removed, moves each of the k
entries by at most 1/n_c: the vector's L2 sensitivity is sqrt(k) / n_c. All of the site's rows are used. A random batch
of m of them would be counted as m rows without amplification, and be worth that much less.
"""

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.randomness import Randomness


def score_deviation(noise_multiplier: float, entries: int, rows: int) -> float:
    """The standard deviation of the noise on each similarity: s sqrt(k) / n_c."""
    return noise_multiplier * sqrt(entries) / rows


def noisy_similarities(
    paid: Sequence[Paid], randomness: Sequence[Randomness], similarity: Tensor, asked: Tensor, rows: Sequence[int]
) -> Tensor:
    """``similarity`` [G, J] with noise wherever a site asked (``asked``, bool [G, J]) and 0 elsewhere.

    Clamping to [0, 1] afterwards reads no record.
    """
    noisy = torch.zeros_like(similarity)
    for g, (one, source, count) in enumerate(zip(paid, randomness, rows, strict=True)):
        event = one.spend()
        entries = int(asked[g].sum())
        noise = similarity.new_empty(entries)
        source.normal_(noise)
        deviation = score_deviation(event.noise_multiplier, entries, count)
        noisy[g, asked[g]] = similarity[g, asked[g]] + deviation * noise
    return noisy.clamp(0, 1)
