"""A module of one's own that is a straight line of the plain layers runs as the built-in networks do.

What stacks do for any module through `vmap` costs a fixed time a step, which small layers notice. Where tracing the
module (`torch.fx`) gives nothing but layers we have in stacked form, each reading the one before it, those are used:
with the user's weights, names and module, and with gradients of single records in closed form.
"""

import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from secure_sapefl.models.base import flat
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.probing import made_up
from secure_sapefl.models.stacked import Convolution, Flatten, Layer, Linear, Pool, Relu, StackedModel


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class RecognisedModel(StackedModel):
    """Layers in stacked form beside the module they were found in."""

    own: ModuleModel
    names: tuple[str, ...]  # of the module's parameters, in the order of the layers

    def module(self) -> nn.Module:  # type: ignore[override]  # the user's own, which need not be a Sequential
        return copy.deepcopy(self.own.template)

    def weights_of(self, module: nn.Module) -> list[nn.Parameter]:
        return [module.get_parameter(name) for name in self.names]

    def initial(self, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - drawn when the module was built
        return flat(self, self.own.template)

    @property
    def body(self) -> StackedModel:
        return StackedModel(self.layers, self.classes, self.widest).body

    @property
    def head(self) -> StackedModel:
        return StackedModel(self.layers, self.classes, self.widest).head


def recognised(model: ModuleModel) -> "RecognisedModel | ModuleModel":
    """The same model in stacked form where it has one; otherwise as it is."""
    found = _layers(model.template) if model.unstackable is None else None  # as where hooks change its gradients
    if found is None:
        return model
    layers, names = found
    ends = isinstance(layers[-1], Linear) and model.head_name in (None, names[-1].rpartition(".")[0])
    if set(names) != set(model.names) or not ends:
        return model
    stacked = RecognisedModel(layers=layers, classes=model.classes, widest=model.widest, own=model, names=names)
    return stacked if _agrees(stacked, model) else model


def _agrees(stacked: RecognisedModel, model: ModuleModel) -> bool:
    x = made_up(model.row_shape, 1, 3)
    start = np.random.default_rng()
    try:
        answers = stacked.outputs(stacked.initial(start)[None], x)
    except RuntimeError:
        return False
    return torch.allclose(answers, model.outputs(model.initial(start)[None], x), rtol=1e-4, atol=1e-5)


def _layers(module: nn.Module) -> tuple[tuple[Layer, ...], tuple[str, ...]] | None:
    """The straight line of a module's layers and their parameters' names; None where it is something else."""
    try:
        nodes = list(fx.symbolic_trace(module).graph.nodes)
    except Exception:  # tracing runs the user's code on stand-ins, which may fail in any way
        return None
    layers, names = list[Layer](), list[str]()
    if [node.op for node in nodes].count("placeholder") != 1 or nodes[-1].op != "output":
        return None
    for before, node in pairwise(nodes[:-1]):
        found = _layer(module, node) if _inputs(node) == [before] else None
        if found is None:
            return None
        layers.append(found)
        names += [f"{node.target}.{name}" for name in ("weight", "bias")] if found.shapes() else []
    if len(set(names)) != len(names) or list(_inputs(nodes[-1])) != [nodes[-2]] or not layers:
        return None
    return tuple(layers), tuple(names)


def _inputs(node: fx.Node) -> list[fx.Node]:
    return list(node.all_input_nodes)


def _layer(module: nn.Module, node: fx.Node) -> Layer | None:
    if node.op == "call_module":
        return _of_module(module.get_submodule(str(node.target)))
    relus: tuple[Any, ...] = (torch.relu, F.relu, "relu")
    return Relu() if node.target in relus and len(node.args) == 1 and not node.kwargs.get("inplace") else None


def _of_module(layer: nn.Module) -> Layer | None:
    """Exactly these, with the settings the stacked form has."""
    if type(layer) is nn.Linear and layer.bias is not None:
        return Linear(layer.in_features, layer.out_features)
    if type(layer) is nn.ReLU:
        return Relu()
    if type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1):
        return Flatten()
    if type(layer) is nn.MaxPool2d and _settings(layer) == ((2, 2), (2, 2), (0, 0), (1, 1), False):
        return Pool()
    plain = nn.Conv2d(1, 1, 3, padding=1)
    if type(layer) is nn.Conv2d and layer.bias is not None and _form(layer) == _form(plain):
        return Convolution(layer.in_channels, layer.out_channels)
    return None


def _settings(pool: nn.MaxPool2d) -> tuple[Any, ...]:
    pairs = (pool.kernel_size, pool.stride, pool.padding, pool.dilation)
    return (*((one, one) if isinstance(one, int) else tuple(one) for one in pairs), pool.ceil_mode)


def _form(layer: nn.Conv2d) -> tuple[Any, ...]:
    return layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.groups, layer.padding_mode
