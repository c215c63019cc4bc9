"""What sites may do with the mean update besides adding it: momentum.

All sites do the same after decryption, so it costs nothing on the wire, the server has no part in it, and no method has
to know. What sites hold in common stands in one row, so that it travels, is saved and resumed like a global model:

    [ theta_G, and what the method holds behind it | v ]

Momentum is FedAvgM's (Hsu, Qi, Brown: Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification, arXiv:1909.06335, 2019). In a private study the mean is noised already, and this is free.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, add_mean
from secure_sapefl.algorithms.group import SiteGroup


def with_server_step(algorithm: Algorithm, momentum: float) -> Algorithm:
    """``algorithm`` with momentum. One whose server adds nothing stays as it is."""
    if algorithm.homomorphic is not Homomorphic.WEIGHTED_SUM or not momentum:
        return algorithm
    form = _ServerStep(algorithm, momentum)
    return replace(
        algorithm,
        initial_global=form.initial_global,
        global_step=form.global_step,
        site_round=form.site_round,
        personal_models=form.personal_models,
    )


def only_adds(algorithm: Algorithm) -> bool:
    """Whether theta_G is where everybody started plus the opened means, each once."""
    return algorithm.global_step is add_mean


@dataclass(frozen=True, slots=True)
class _ServerStep:
    algorithm: Algorithm
    momentum: float

    def initial_global(self, theta_initial: Tensor, options: Any) -> Tensor:
        theta = self.algorithm.initial_global(theta_initial, options)
        return torch.cat((theta, torch.zeros_like(theta)))

    def global_step(self, row: Tensor, mean: Tensor, options: Any) -> Tensor:
        """v <- m v + what the method's own step adds;  theta_G <- theta_G + v."""
        theta, velocity = row.chunk(2)
        velocity = self.momentum * velocity + (self.algorithm.global_step(theta, mean, options) - theta)
        return torch.cat((theta + velocity, velocity))

    def site_round(self, group: SiteGroup, options: Any) -> Contribution:
        return self.algorithm.site_round(_seen(group), options)

    def personal_models(self, group: SiteGroup, options: Any) -> Tensor:
        return self.algorithm.personal_models(_seen(group), options)


def _seen(group: SiteGroup) -> SiteGroup:
    """The group as the method knows it."""
    return replace(group, theta_global=group.theta_global.chunk(2)[0])
