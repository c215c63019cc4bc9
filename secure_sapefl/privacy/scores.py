"""The Gaussian mechanism on means over a site's records: output similarities above all.

    S~_cj = 1/n_c sum_i max(0, cos(f(theta_c, x_i), f(theta_j, x_i))),  j = 1..k

Every term lies in [0, 1] and n_c is a constant the site declared, so one record, added or removed, moves each of the k
entries by at most 1/n_c: the vector's L2 sensitivity is sqrt(k) / n_c. All of the site's rows are used. A random batch
of m of them would be counted as m rows without amplification, and be worth that much less.

Any k means of values in [0, 1] are released in this way. Where a record can bring less than sqrt(k), as to the shares
of the labels, of which it has one, the caller says so.
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


def noisy_means(
    paid: Sequence[Paid],
    randomness: Sequence[Randomness],
    exact: Tensor,
    asked: Tensor,
    rows: Sequence[int],
    record_norm: float | None = None,
) -> Tensor:
    """``exact`` [G, J] with noise wherever a site asked (``asked``, bool [G, J]) and 0 elsewhere.

    ``record_norm`` is the largest L2 norm of what one record brings, sqrt(J) where not given. Clamping to [0, 1]
    afterwards reads no record.
    """
    noisy, asked = torch.zeros_like(exact), asked.cpu()  # how much noise to draw is for the host to know: once, for all
    for g, (one, source, count) in enumerate(zip(paid, randomness, rows, strict=True)):
        event = one.spend()
        entries = torch.nonzero(asked[g]).squeeze(1).to(exact.device)
        noise = exact.new_empty(len(entries))
        source.normal_(noise)
        norm = sqrt(len(entries)) if record_norm is None else record_norm
        noisy[g, entries] = exact[g, entries] + event.noise_multiplier * norm / count * noise
    return noisy.clamp(0, 1)
