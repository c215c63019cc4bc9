"""DP-SGD of one site through Opacus itself: what our trainer is tested and timed against, and the mistake it avoids.

Opacus rebuilds ``p.grad`` from what passed its hooks, so the gradient of a penalty on the weights that was put into the
loss is thrown away; in ghost mode it survives divided by the batch size. `step` goes around it: `pre_step`, then the
data-free gradient, then the plain optimizer.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from secure_sapefl.models.base import Model, loaded
from secure_sapefl.training.objective import Batch, Objective

Mode = Literal["hooks", "functorch", "ghost"]


class OpacusSite:
    """One site's weights in an Opacus module. Batches and objectives are those of a group of one, without padding."""

    def __init__(
        self, model: Model, theta: Tensor, mode: Mode, *, clip: float, noise: float, expected_batch: float, lr: float
    ) -> None:
        self._model, module = model, loaded(model, theta)
        self._weights = model.weights_of(module)
        self._ghost = mode == "ghost"
        self._module: Any = (
            GradSampleModuleFastGradientClipping(module, max_grad_norm=clip, use_ghost_clipping=True)
            if self._ghost
            else GradSampleModule(module, force_functorch=mode == "functorch")
        )
        kind = DPOptimizerFastGradientClipping if self._ghost else DPOptimizer
        self._plain = torch.optim.SGD(self._weights, lr=lr)
        self._optimizer = kind(
            self._plain, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=expected_batch
        )

    @property
    def theta(self) -> Tensor:
        return parameters_to_vector(self._weights).detach()

    def step(self, batch: Batch, objective: Objective) -> None:
        """Clip and noise the records' part; add the gradient that reads no record; step."""
        self._backward(batch, objective)
        self._optimizer.pre_step()
        theta = self.theta[None]
        if (pull := objective.weight_pull(theta)) is not None:
            gradient = (
                parameters_to_vector([p.grad for p in self._weights if p.grad is not None]) + pull.dense(theta)[0]
            )
            self._set_gradient(gradient)
        self._plain.step()

    def _backward(self, batch: Batch, objective: Objective) -> None:
        self._optimizer.zero_grad()
        batch = self._sound(batch, objective)
        with unremarked():
            losses = self._losses(batch, objective)
            if self._ghost:
                DPTensorFastGradientClipping(self._module, self._optimizer, losses).backward()
            else:
                losses.mean().backward()

    def _sound(self, batch: Batch, objective: Objective) -> Batch:
        """Without records whose loss is no number: they count as nothing."""
        with torch.no_grad():
            kept = self._losses(batch, objective).isfinite()
        return batch if kept.all() else batch.at_site(0, kept)

    def _losses(self, batch: Batch, objective: Objective) -> Tensor:
        key = None if batch.keys is None else batch.keys[0]
        return objective.record_loss(self._model.call(self._module, batch.x[0], key)[None], batch)[0]

    def _set_gradient(self, gradient: Tensor) -> None:
        for weight, part in zip(self._weights, gradient.split([w.numel() for w in self._weights]), strict=True):
            weight.grad = part.view_as(weight)


@contextmanager
def unremarked() -> Iterator[None]:
    """Torch remarks that the first layer's input needs no gradient: records never do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Full backward hook is firing", category=UserWarning)
        yield
