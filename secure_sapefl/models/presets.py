"""The models that have a name, and how a model is made from what a configuration says of it."""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.models.base import Build, Description, Model
from secure_sapefl.models.declared import CARRIED
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.recognised import recognised
from secure_sapefl.models.stacked import Preset as Plain
from secure_sapefl.models.stacked import build_model
from secure_sapefl.own_code import OwnCode, load, names_own_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a study says of its model."""

    name: str  # a preset's, FILE.py:build or package.module:build
    head: str | None = None
    state: Mapping[str, Tensor] | None = None  # weights by name, to start from
    build: OwnCode | None = None  # a function that was passed as it is


@dataclass(frozen=True, slots=True)
class Made:
    """A model, and a digest of what it is made from where that is the user's own."""

    model: Model
    digest: str | None = None


Maker = Callable[[Description, Choice, np.random.Generator], Model]


def _plain(name: Plain) -> Maker:
    def make(about: Description, choice: Choice, _: np.random.Generator) -> Model:
        if choice.head is not None:
            raise BadInput(f"The model {name!r} has its head already: leave out --head, which is for a model of yours.")
        return build_model(about.shape, about.outputs, name)

    return make


def _reference(home: str, name: str) -> Maker:
    """One of our modules, imported when it is asked for: Opacus takes seconds."""

    def make(about: Description, choice: Choice, rng: np.random.Generator) -> Model:
        build: Build = getattr(import_module(f"secure_sapefl.models.{home}"), name)
        return ModuleModel.from_build(build, about, rng, choice.head or "fc", choice.state)

    return make


PRESETS: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "linear": _plain("linear"),
        "small": _plain("small"),
        "paper": _plain("paper"),
        "table": _reference("tables", "table"),
        "resnet": _reference("images", "resnet"),
        "lstm": _reference("sequences", "lstm"),
        "transformer": _reference("sequences", "transformer"),
    }
)


def made(choice: Choice, about: Description, rng: np.random.Generator) -> Made:
    """The model of a study; what it draws while it is built comes from ``rng``."""
    own = choice.build or (load(choice.name, "model") if names_own_code(choice.name) else None)
    if own is not None:
        model = ModuleModel.from_build(_callable(own), about, rng, choice.head, choice.state)
        return Made(recognised(model), _digest(own, model.template))
    if choice.name == CARRIED:
        raise BadInput(
            "The model is code that a study carries. To simulate it, name its file: --model FILE.py:FUNCTION."
        )
    if choice.name not in PRESETS:
        raise UnknownName("model", choice.name, PRESETS)
    return Made(PRESETS[choice.name](about, choice, rng))


def _callable(own: OwnCode) -> Build:
    build: Build = own.value
    if isinstance(build, nn.Module) or not callable(build):
        raise BadInput(f"The model {own.name!r} is no function of the data's description, but {type(own.value)}.")
    try:
        inspect.signature(build).bind(None)
    except ValueError:
        return build  # written in C, and says nothing of what it takes
    except TypeError as error:
        raise BadInput(f"The model {own.name!r} cannot be called with the data's description alone: {error}.") from None
    return build


def _digest(own: OwnCode, module: nn.Module) -> str:
    """Of the source, of what stands still, and of the weights everybody starts from."""
    whole = hashlib.sha256(own.digest.encode())
    for name, value in module.state_dict().items():
        whole.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        whole.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()[:32]
