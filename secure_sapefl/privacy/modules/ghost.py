"""Clipping the records of a module without a gradient for each of them: Opacus' ghost clipping, where it pays.

A first backward pass leaves the norm of every record's gradient. Of a linear layer it follows from what goes in and
from the gradient of what comes out (Li et al. 2022, arXiv:2110.05679). A second pass, with each record's slopes times
its factor, is the clipped sum. For a layer without such a form Opacus forms the gradients all the same, and the second
pass comes on top; over a sequence of T steps the norm takes 2 T^2 products where the gradient has in * out numbers (Bu
et al. 2022, arXiv:2205.10683). So it is used for a model most of whose weights are in layers where it is shorter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import torch
from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
from torch import Tensor, nn

from secure_sapefl.models.base import joined
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.probing import made_up
from secure_sapefl.privacy.modules.trial import REFUSALS, Slopes, Trial, require_close
from secure_sapefl.privacy.record_gradients import where_sound
from secure_sapefl.privacy.reference import unremarked


@lru_cache(maxsize=16)
def ghost(model: ModuleModel) -> "GhostRecords | None":
    """The way that was tried and holds for this model; None where it does not pay, or does not hold."""
    if 2 * weights_saved(model) < model.parameters:
        return None
    try:
        found = GhostRecords(model)
        require_right(found, Trial.made_up(model))
    except REFUSALS:
        return None
    return found


def weights_saved(model: ModuleModel) -> int:
    """How many of the trained weights are in linear layers whose gradients are longer than the way around them."""
    module, names, saved = model.module(), set(model.names), list[int]()

    def look(layer: nn.Module, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        if not inputs:  # called by keyword: Opacus does not see what it reads
            return
        steps = prod(inputs[0].shape[1:-1])
        sizes = {name: weight.numel() for name, weight in layer.named_parameters(recurse=False)}
        if 2 * steps**2 < sizes["weight"]:
            saved.append(sum(sizes.values()))

    for name, layer in module.named_modules():
        if type(layer) is nn.Linear and f"{name}.weight".removeprefix(".") in names:
            layer.register_forward_hook(look)
    rows = made_up(model.row_shape, 2)
    with torch.no_grad(), KeyedDraws(None), unremarked():
        module(rows)
    return sum(saved)


def require_right(way: "GhostRecords", trial: Trial) -> None:
    """Norms, and a sum with some factors."""
    found = way(trial.weights, trial.x, trial.key, lambda _: trial.slopes)
    norms = joined(trial.gradients).square().sum(1)
    require_close(found.squared_norms()[0], norms, "all weights")
    factors = torch.linspace(0.5, 1.5, len(trial.x))
    for name, one, formed in zip(trial.names, found.combined(factors[None]), trial.gradients, strict=True):
        require_close(one[0], torch.tensordot(factors, formed, 1), repr(name))


class GhostRecords:
    """By the hooks of Opacus' `GradSampleModuleFastGradientClipping`."""

    def __init__(self, model: ModuleModel) -> None:
        self._model = model
        with unremarked():
            self._module: Any = GradSampleModuleFastGradientClipping(model.module(), loss_reduction="sum")

    def __call__(self, weights: Sequence[Tensor], x: Tensor, key: Tensor | None, slopes: Slopes) -> "GhostGradients":
        """On rows ``x`` [B, ...] of one site."""
        module = self._module
        parameters = [module.get_parameter(f"_module.{name}") for name in self._model.names]
        for parameter, weight in zip(parameters, weights, strict=True):
            parameter.data.copy_(weight)
            parameter._norm_sample = None  # Opacus' own: what an earlier batch left is not this one's
        module.enable_hooks()
        with unremarked():
            answers = self._model.call(module, x, key)
            slope = slopes(answers)
            answers.backward(slope, retain_graph=True)
        module.disable_hooks()  # the second pass is an ordinary one
        # where Opacus leaves norms; its own sum of them would take those of weights that were not used from before
        norms = [one._norm_sample.square() for one in parameters if one._norm_sample is not None]
        module.zero_grad(set_to_none=True)
        begun = _Pass(answers, slope, parameters)
        return GhostGradients(self, weights, x, key, slopes, torch.stack(norms).sum(0)[None], begun)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A graph that has been gone through once."""

    answers: Tensor  # [B, K]
    slopes: Tensor  # [B, K]
    parameters: list[nn.Parameter]


@dataclass(frozen=True, slots=True)
class GhostGradients:
    """`RecordGradients` of all weights of one site's module: known by their norms, and combined once."""

    way: GhostRecords
    weights: Sequence[Tensor]
    x: Tensor
    key: Tensor | None
    slopes: Slopes
    norms: Tensor  # [1, B], squared
    begun: _Pass = field(repr=False)

    def squared_norms(self) -> Tensor:
        return self.norms

    def combined(self, factors: Tensor) -> tuple[Tensor, ...]:
        """The second pass: it uses the graph up. Its precision is the module's, whatever that of the factors."""
        scaled = self.begun.slopes * factors[0].unsqueeze(1).to(self.begun.slopes.dtype)
        with unremarked():
            found = torch.autograd.grad(self.begun.answers, self.begun.parameters, scaled, materialize_grads=True)
        return tuple(one[None] for one in found)

    def only(self, sound: Tensor) -> "GhostGradients":
        """Both passes anew, on rows of zeros for the records that are not."""
        rows = where_sound(sound[0], self.x)
        return self.way(self.weights, rows, self.key, lambda answers: where_sound(sound[0], self.slopes(answers)))
