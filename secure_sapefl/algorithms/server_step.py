"""What sites may do with the mean update besides adding it: momentum, and a smoothed global model.

All sites do the same after decryption, so it costs nothing on the wire, the server has no part in it, and no method has
to know. What sites hold in common stands in one row, so that it travels, is saved and resumed like a global model:

    [ theta_G, and what the method holds behind it | v | e ]

Momentum is FedAvgM's (Hsu, Qi, Brown: Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification, arXiv:1909.06335, 2019). e is an exponential mean of theta_G over rounds, for methods that use one. In a
private study the mean update is noised already, and both are free.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, add_mean
from secure_sapefl.algorithms.group import SiteGroup


def with_server_step(algorithm: Algorithm, momentum: float, smoothing: float = 0.0) -> Algorithm:
    """``algorithm`` with momentum and e. One whose server adds nothing, or that has neither, stays as it is."""
    if algorithm.homomorphic is not Homomorphic.WEIGHTED_SUM or not (momentum or smoothing):
        return algorithm
    form = _ServerStep(algorithm, momentum, smoothing)
    return replace(
        algorithm,
        initial_global=form.initial_global,
        global_step=form.global_step,
        site_round=form.site_round,
        personal_models=form.personal_models,
    )


def only_adds(algorithm: Algorithm) -> bool:
    """Whether theta_G is where everybody started plus the opened means, each once."""
    form = getattr(algorithm.global_step, "__self__", None)
    if isinstance(form, _ServerStep):
        return not form.momentum and only_adds(form.algorithm)
    return algorithm.global_step is add_mean


@dataclass(frozen=True, slots=True)
class _ServerStep:
    algorithm: Algorithm
    momentum: float
    smoothing: float

    def initial_global(self, theta_initial: Tensor, options: Any) -> Tensor:
        theta = self.algorithm.initial_global(theta_initial, options)
        return torch.cat((theta, torch.zeros_like(theta), theta))

    def global_step(self, row: Tensor, mean: Tensor, options: Any) -> Tensor:
        """v <- m v + what the method's own step adds;  theta_G <- theta_G + v;  e <- s e + (1 - s) theta_G.

        With the first step e goes along: where everybody started is no model to remember.
        """
        theta, velocity, smoothed = row.chunk(3)
        first = not velocity.any()
        velocity = self.momentum * velocity + (self.algorithm.global_step(theta, mean, options) - theta)
        theta = theta + velocity
        return torch.cat((theta, velocity, theta if first else torch.lerp(theta, smoothed, self.smoothing)))

    def site_round(self, group: SiteGroup, options: Any) -> Contribution:
        return self.algorithm.site_round(_seen(group), options)

    def personal_models(self, group: SiteGroup, options: Any) -> Tensor:
        return self.algorithm.personal_models(_seen(group), options)


def _seen(group: SiteGroup) -> SiteGroup:
    """The group as the method knows it."""
    theta, _, smoothed = group.theta_global.chunk(3)
    return replace(group, theta_global=theta, theta_smoothed=smoothed)
