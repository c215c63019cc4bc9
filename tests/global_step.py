"""The global step, in the clear. `sapefl_crypto.Aggregator` is this function's encrypted twin."""

from torch import Tensor


def aggregate(theta_global: Tensor, updates: Tensor, similarity_scores: Tensor) -> Tensor:
    """Move the global model by the similarity-weighted mean update (Eq. 12).

    theta_G <- theta_G + sum_c s_c * Delta_c / sum_c s_c
    """
    total = similarity_scores.sum()
    if total == 0:
        return theta_global  # nobody resembles anybody: the round changes nothing
    return theta_global + similarity_scores @ updates / total
