"""Any `torch.nn.Module` as a `Model`, through `torch.func`: one module, called with the weights of each site.

`functional_call` runs the module with weights from outside, and `vmap` does so for a whole stack of sites at once.
Parameters that require no gradient, and buffers, are the module's own: they do not travel. Where an operator has no
form for stacks (a plain `nn.LSTM`, say), sites are run one after another, and `unstackable` says so.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from secure_sapefl.errors import BadInput
from secure_sapefl.models import checks
from secure_sapefl.models.base import Build, Description, flat
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.probing import Trial, draws, made_up, why_not_stacked, widest
from secure_sapefl.models.taps import LinearTaps

_NO_KEY = "a model with dropout is trained with keys"
_CHUNK_VALUES = 1 << 24  # activations held at once when models are only evaluated


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ModuleModel:
    """A `Model` around a module; ``names`` are the parameters it trains, the head's last."""

    template: nn.Module  # holds what stands still, and the weights everybody starts from
    names: tuple[str, ...]
    row_shape: tuple[int, ...]
    classes: int
    widest: int
    draws: bool
    unstackable: str | None
    head_name: str | None = None
    _copies: dict[torch.device, tuple[nn.Module, nn.Module]] = field(default_factory=dict)

    @classmethod
    def from_build(
        cls,
        build: Build,
        about: Description,
        rng: np.random.Generator,
        head: str | None = None,
        state: Mapping[str, Tensor] | None = None,
    ) -> "ModuleModel":
        """Build the module with what it draws taken from ``rng``, and try it. ``state`` replaces weights by name."""
        with _seeded(rng):
            module = checks.materialised(build(about), about)
        if state:
            known = module.state_dict()  # what does not fit is refused by name in `states.started_from`
            fits = {name: value for name, value in state.items() if name in known and value.shape == known[name].shape}
            module.load_state_dict(fits, strict=False)
        module = checks.in_training(module)
        checks.check(module, about)
        return _described(module, about, _ordered(module, head), head)

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def shapes(self) -> list[torch.Size]:
        return [weight.shape for weight in self.weights_of(self.template)]

    @property
    def head_start(self) -> int:
        if self.head_name is None:
            return self.parameters
        pairs = zip(self.names, self.shapes, strict=True)
        return sum(math.prod(shape) for name, shape in pairs if not _inside(name, self.head_name))

    @property
    def body(self) -> "ModuleModel":
        head = _required(self.head_name)
        template = _copied(self.template)
        template.set_submodule(head, nn.Identity())
        names = tuple(name for name in self.names if not _inside(name, head))
        return self._part(template, names, self.row_shape, _features(self.template, head))

    @property
    def head(self) -> "ModuleModel":
        name = _required(self.head_name)
        template = _copied(self.template).get_submodule(name)
        names = tuple(one.removeprefix(f"{name}.") for one in self.names if _inside(one, name))
        return self._part(template, names, (_features(self.template, name),), self.classes)

    def _part(
        self, template: nn.Module, names: tuple[str, ...], row_shape: tuple[int, ...], outputs: int
    ) -> "ModuleModel":
        return replace(
            self, template=template, names=names, row_shape=row_shape, classes=outputs, head_name=None, _copies={}
        )

    def views(self, theta: Tensor) -> list[Tensor]:
        bounds = accumulate((math.prod(shape) for shape in self.shapes), initial=0)
        return [
            theta[:, a:b].view(len(theta), *shape) for (a, b), shape in zip(pairwise(bounds), self.shapes, strict=True)
        ]

    def apply(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None = None) -> Tensor:
        return self._trained(weights, x, keys, nullcontext())

    def tapped(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None = None) -> tuple[Tensor, LinearTaps]:
        """The same, and what finds gradients from there: autograd does not see weights in linear layers."""
        taps = LinearTaps(weights)
        return self._trained(weights, x, keys, taps), taps

    def _trained(
        self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None, watched: AbstractContextManager[object]
    ) -> Tensor:
        training, _ = self._at(x.device)
        call = self._caller(training, watched)
        if not self.draws:
            return self._stacked(call, weights, x)
        if keys is None:
            raise ValueError(_NO_KEY)

        def drawing(own: tuple[Tensor, ...], rows: Tensor, key: Tensor) -> Tensor:
            with KeyedDraws(key):
                return call(own, rows)

        return self._stacked(drawing, weights, x, keys)

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        rows = max(1, _CHUNK_VALUES // (len(theta) * self.widest))
        _, serving = self._at(x.device)
        with torch.no_grad():
            weights, call = self.views(theta), self._caller(serving, nullcontext())
            return torch.cat([self._stacked(call, weights, part) for part in x.split(rows, dim=1)], dim=1)

    def module(self) -> nn.Module:
        return _copied(self.template)

    @property
    def undrawn(self) -> "ModuleModel":
        """The same with nothing dropped in training, for whoever does not know the draws (`audit/`)."""
        return replace(self, template=_copied(self.template).eval(), draws=False, _copies={})

    def weights_of(self, module: nn.Module) -> list[nn.Parameter]:
        return [module.get_parameter(name) for name in self.names]

    def call(self, module: nn.Module, x: Tensor, key: Tensor | None = None) -> Tensor:
        if self.draws and key is None:
            raise ValueError(_NO_KEY)
        with KeyedDraws(key) if self.draws else nullcontext():
            answer: Tensor = module(x)
        return answer

    def initial(self, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - drawn when the module was built
        return flat(self, self.template)

    def _caller(self, module: nn.Module, watched: AbstractContextManager[object]) -> "CallOne":
        def call(own: tuple[Tensor, ...], rows: Tensor) -> Tensor:
            with watched:
                answer: Tensor = functional_call(module, dict(zip(self.names, own, strict=True)), (rows,))
            return answer

        return call

    def _stacked(self, call: Callable[..., Tensor], weights: Sequence[Tensor], *inputs: Tensor) -> Tensor:
        if self.unstackable is None:
            stacked: Tensor = vmap(call)(tuple(weights), *inputs)
            return stacked
        sites = zip(zip(*weights, strict=True), *inputs, strict=True)
        return torch.stack([call(*site) for site in sites])

    def _at(self, device: torch.device) -> tuple[nn.Module, nn.Module]:
        """The module in training and in use, with what stands still on ``device``."""
        if device not in self._copies:
            training = _copied(self.template).to(device)
            self._copies[device] = training, _copied(training).eval()
        return self._copies[device]


CallOne = Callable[[tuple[Tensor, ...], Tensor], Tensor]


def _described(module: nn.Module, about: Description, names: tuple[str, ...], head: str | None) -> ModuleModel:
    found = ModuleModel(
        template=module,
        names=names,
        row_shape=about.shape,
        classes=about.outputs,
        widest=widest(module, about),
        draws=draws(module, about),
        unstackable=None,
        head_name=head,
    )
    if head is not None:
        _check_split(found, about)
    trial = Trial(found, about)
    _check_gradients(found, trial)
    return replace(found, unstackable=why_not_stacked(found, trial), _copies={})


def _check_gradients(model: ModuleModel, trial: Trial) -> None:
    """They are the same whether a module holds its weights, as in the reference, or is given them."""
    try:
        same = trial.agrees(replace(model, unstackable="not known yet", _copies={}))
    except RuntimeError:
        same = False
    if not same:
        raise BadInput(
            "The model has other gradients when it is given a site's weights than when it holds them: it keeps a "
            "second way to a weight, or runs again on the way back, as torch.utils.checkpoint does. Use each weight "
            "by the attribute that it is registered as, and leave out checkpoints."
        )


def _ordered(module: nn.Module, head: str | None) -> tuple[str, ...]:
    """The trained parameters' names, the head's behind the body's."""
    names = [name for name, weight in module.named_parameters() if weight.requires_grad]
    if head is None:
        return tuple(names)
    inside = [name for name in names if _inside(name, head)]
    if not inside:
        linear = [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
        raise BadInput(
            f"The model has no part {head!r} with parameters to train, to be its head. Linear layers of it: "
            f"{', '.join(linear) or 'none'}."
        )
    if len(inside) == len(names):
        raise BadInput(
            f"The model trains nothing but its head {head!r}: there is no body to split it from. Leave out --head."
        )
    return (*(name for name in names if not _inside(name, head)), *inside)


def _inside(name: str, part: str) -> bool:
    return name.startswith(f"{part}.")


def _required(head: str | None) -> str:
    if head is None:
        raise BadInput("The method splits a model into body and head: name the head of yours, for instance --head fc.")
    return head


def _features(module: nn.Module, head: str) -> int:
    """Values that go into the head for a row."""
    first = module.get_submodule(head)
    linear = next((layer for layer in first.modules() if isinstance(layer, nn.Linear)), None)
    if linear is None:
        raise BadInput(f"The model's head {head!r} has no linear layer, so nobody knows what it reads.")
    return linear.in_features


def _check_split(model: ModuleModel, about: Description) -> None:
    """Head after body is the model; otherwise something else follows the head."""
    x = made_up(about.shape, 1, 2)
    theta, at = model.initial(np.random.default_rng())[None], model.head_start
    alone = replace(model, unstackable="not known yet", _copies={})
    try:
        parts = alone.head.outputs(theta[:, at:], alone.body.outputs(theta[:, :at], x))
        whole = torch.allclose(parts, alone.outputs(theta, x), rtol=1e-4, atol=1e-5, equal_nan=True)
    except RuntimeError:
        whole = False
    if not whole:
        raise BadInput(
            f"The model's {model.head_name!r} is not what it ends with: body, then head, gives another answer. A head "
            "reads one vector a row and is the last to be called."
        )


def _copied(module: nn.Module) -> nn.Module:
    """A module with trained weights of its own; what stands still is shared."""
    still = {id(weight): weight for weight in module.parameters() if not weight.requires_grad}
    try:
        return copy.deepcopy(module, still)
    except (RuntimeError, TypeError) as error:
        raise BadInput(
            f"The model cannot be copied for each site: {error}. Let it keep plain values beside its parameters."
        ) from error


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):  # a module is built in main memory
        torch.manual_seed(int(rng.integers(2**63)))
        yield
