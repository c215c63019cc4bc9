"""The gradient of every record for any module: through Opacus, or through `torch.func` where Opacus has no way.

Neither is trusted unseen. Opacus counts records along the first axis of what goes into each layer, and a layer that is
handed something else (attention with steps first, say) gets gradients of steps for gradients of records, in silence. So
a module is tried on a few made-up rows first, against autograd one record at a time; what fits neither way is refused.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import torch
from opacus.grad_sample import GradSampleModule
from opacus.validators import ModuleValidator
from torch import Tensor
from torch.func import functional_call, vjp, vmap

from secure_sapefl.errors import BadInput
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.probing import no_fallback
from secure_sapefl.privacy.modules.ghost import ghost
from secure_sapefl.privacy.modules.trial import REFUSALS, Slopes, Trial, require_close
from secure_sapefl.privacy.record_gradients import DenseGradients, RecordGradients
from secure_sapefl.privacy.reference import unremarked
from secure_sapefl.training.objective import Batch, Objective


class PerRecord(Protocol):
    """One way to the gradients of one site's records."""

    def __call__(self, weights: Sequence[Tensor], x: Tensor, key: Tensor | None, slopes: Slopes) -> list[Tensor]:
        """[B, *shape] for each of ``weights``, on rows ``x`` [B, ...]."""


def formed_gradients(
    model: ModuleModel, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> list[DenseGradients]:
    """The gradients of the records of a group of one, weight by weight."""
    found = per_record(model)(*_of_site(weights, batch), _slopes(batch, objective))
    return [DenseGradients(gradient[None]) for gradient in found]


def clippable_gradients(
    model: ModuleModel, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> Sequence[RecordGradients]:
    """The same as clipping needs them: known by their norms where that is the shorter way, on a processor. A card is
    not asked which records are sound (`per_record.clipped`), and would go through both passes twice."""
    way = ghost(model) if batch.x.device.type == "cpu" else None
    if way is None:
        return formed_gradients(model, weights, batch, objective)
    return [way(*_of_site(weights, batch), _slopes(batch, objective))]


def _of_site(weights: Sequence[Tensor], batch: Batch) -> tuple[list[Tensor], Tensor, Tensor | None]:
    key = None if batch.keys is None else batch.keys[0]
    return [weight[0].detach() for weight in weights], batch.x[0], key


def _slopes(batch: Batch, objective: Objective) -> Slopes:
    def slopes(answers: Tensor) -> Tensor:
        seen = answers.detach().requires_grad_()
        losses = objective.record_loss(seen[None], batch)
        return torch.autograd.grad(losses.sum(), seen)[0]

    return slopes


@lru_cache(maxsize=16)
def per_record(model: ModuleModel) -> PerRecord:
    """The way that was tried and holds for this model; or `BadInput`."""
    reasons = []
    for way in (OpacusRecords, FunctionRecords):
        try:
            found = way(model)
            _try(model, found)
        except REFUSALS as error:
            reasons.append(str(error).strip().splitlines()[0])
        else:
            return found
    with unremarked():
        advice = " ".join(str(error).splitlines()[0] for error in ModuleValidator.validate(model.module()))
    raise BadInput(
        "The gradient of a single record, which a privacy budget needs, is not to be had of this model. "
        f"{advice or f'By Opacus: {reasons[0]} By torch.func: {reasons[1]}'} Sequences have DPLSTM, DPGRU and "
        "DPMultiheadAttention in opacus.layers."
    )


def _try(model: ModuleModel, way: PerRecord) -> None:
    trial = Trial.made_up(model)
    with no_fallback():
        found = way(trial.weights, trial.x, trial.key, lambda _: trial.slopes)
    for name, one, expected in zip(trial.names, found, trial.gradients, strict=True):
        require_close(one, expected, repr(name))


class OpacusRecords:
    """By the hooks of Opacus' `GradSampleModule`: a backward pass leaves a gradient for each record."""

    def __init__(self, model: ModuleModel) -> None:
        self._model = model
        self._modules: dict[torch.device, Any] = {}

    def __call__(self, weights: Sequence[Tensor], x: Tensor, key: Tensor | None, slopes: Slopes) -> list[Tensor]:
        module = self._on(x.device)
        parameters = [module.get_parameter(f"_module.{name}") for name in self._model.names]
        with torch.no_grad():
            for parameter, weight in zip(parameters, weights, strict=True):
                parameter.copy_(weight)
        with unremarked():
            answers = self._model.call(module, x, key)
            answers.backward(slopes(answers))
        found = [_taken(parameter, len(x)) for parameter in parameters]
        module.zero_grad(set_to_none=True)
        return found

    def _on(self, device: torch.device) -> Any:
        """Made where it is used: what Opacus ties to a parameter does not follow it from one device to another."""
        if device not in self._modules:
            with unremarked():
                self._modules[device] = GradSampleModule(self._model.module().to(device), loss_reduction="sum")
        return self._modules[device]


def _taken(parameter: Any, records: int) -> Tensor:
    """0 where a weight was not used at all."""
    gradient = parameter.grad_sample
    if gradient is None:
        return torch.zeros((records, *parameter.shape), device=parameter.device)
    return torch.as_tensor(gradient)


class FunctionRecords:
    """By `torch.func`: the pullback of each record's answer, all records at once."""

    def __init__(self, model: ModuleModel) -> None:
        self._model, self._module = model, model.module()

    def __call__(self, weights: Sequence[Tensor], x: Tensor, key: Tensor | None, slopes: Slopes) -> list[Tensor]:
        module, names = self._module.to(x.device), self._model.names

        def answer(own: tuple[Tensor, ...], row: Tensor, place: Tensor) -> Tensor:
            with KeyedDraws(key, place):
                one: Tensor = functional_call(module, dict(zip(names, own, strict=True)), (row[None],))
            return one[0]

        def pulled(row: Tensor, slope: Tensor, place: Tensor) -> tuple[Tensor, ...]:
            gradients: tuple[Tensor, ...] = vjp(lambda own: answer(own, row, place), tuple(weights))[1](slope)[0]
            return gradients

        places = torch.arange(len(x), device=x.device)
        with torch.no_grad():
            answers = vmap(lambda row, place: answer(tuple(weights), row, place))(x, places)
        return list(vmap(pulled)(x, slopes(answers), places))
