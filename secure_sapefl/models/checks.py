"""What a module of one's own must be, tried before anything is trained; every refusal names the culprit and a way out.

Refused is what cannot be one vector a site that is trained, added up and compared: statistics that a layer keeps for
itself would be a second, unprotected message, and a layer that mixes the records of a batch lets padding speak, and
one record through another's gradient.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.probing import made_up

_NORMS = (nn.modules.batchnorm._NormBase,)  # torch's common name for batch and instance norm
_INSTEAD = "Use nn.GroupNorm or nn.LayerNorm instead"


def materialised(module: object, about: Description) -> nn.Module:
    """The module with everything made that it makes on first sight of a row; or why it cannot be used."""
    if not isinstance(module, nn.Module):
        raise BadInput(f"The model's function gave {type(module).__name__}, expected a torch.nn.Module.")
    _check_uncompiled(module)
    if any(isinstance(parameter, UninitializedParameter) for parameter in module.parameters()):
        _answer(module.eval(), torch.zeros(2, *about.shape), about, nullcontext())
    return module


def check(module: nn.Module, about: Description) -> None:
    """All refusals in turn; ``module`` is in training, as `in_training` leaves it."""
    _check_weights(module)
    _check_layers(module)
    _check_training(module, about)
    _check_use(module, about)


def in_training(module: nn.Module) -> nn.Module:
    """Ready to be trained: a norm that is frozen keeps the statistics it came with."""
    module.train()
    for _, norm in _frozen_norms(module):
        norm.eval()
    return module


def _check_uncompiled(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        # What torch.compile returns has no public name, and to import it takes a second.
        if isinstance(layer, torch.jit.ScriptModule) or type(layer).__name__ == "OptimizedModule":
            part = f"The model's {name!r}" if name else "The model"
            raise BadInput(
                f"{part} is compiled, and cannot be run with every site's weights. Return the module as it is written, "
                "without torch.compile or torch.jit."
            )


def _check_weights(module: nn.Module) -> None:
    trained = [(name, weight) for name, weight in module.named_parameters() if weight.requires_grad]
    if not trained:
        raise BadInput("The model has no parameter to train: all are frozen. Leave some with requires_grad = True.")
    for name, weight in trained:
        if weight.dtype != torch.float32:
            raise BadInput(f"The model's {name!r} holds {weight.dtype}, expected torch.float32: call .float() on it.")
        if weight.layout != torch.strided:
            raise BadInput(f"The model's {name!r} is {weight.layout}, expected torch.strided: call .to_dense() on it.")
        if weight._backward_hooks or weight._post_accumulate_grad_hooks:  # they have no public name
            raise BadInput(
                f"The model's {name!r} has a hook on its gradient, which weights of the sites' own do not have. Leave "
                "it out; what shall stand still is frozen by requires_grad_(False)."
            )
    for name, value in module.state_dict().items():
        if not isinstance(value, Tensor):
            raise BadInput(
                f"The model keeps a {type(value).__name__} as its state {name!r}, and nothing but tensors is stored. "
                "Leave out get_extra_state, or make it a buffer."
            )


def _check_layers(module: nn.Module) -> None:
    frozen = {name for name, _ in _frozen_norms(module)}
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        if isinstance(layer, _NORMS) and layer.track_running_stats and name not in frozen:
            or_frozen = ", or freeze it (requires_grad_(False))" if layer.affine else ""
            raise BadInput(
                f"The model's {name!r} ({kind}) keeps running statistics of the site's records, which would be shared "
                f"unprotected. {_INSTEAD}{or_frozen}."
            )
        if isinstance(layer, nn.RNNBase) and layer.dropout and layer.num_layers > 1:
            raise BadInput(_drops_inside(name, kind, "stack single layers with nn.Dropout between them"))
        if isinstance(layer, nn.MultiheadAttention) and layer.dropout:
            raise BadInput(_drops_inside(name, kind, "give it dropout=0 and put nn.Dropout behind it"))


def _drops_inside(name: str, kind: str, instead: str) -> str:
    return f"The model's {name!r} ({kind}) has a dropout that cannot be repeated site by site: {instead}."


def _frozen_norms(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, layer in module.named_modules():
        own = list(layer.parameters())
        if isinstance(layer, _NORMS) and layer.track_running_stats and own and not any(p.requires_grad for p in own):
            yield name, layer


def _check_training(module: nn.Module, about: Description) -> None:
    """What is learned from is left as it is, and a record's answer is its own: the same each time, whoever is near."""
    x, kept = made_up(about.shape, 3), {name: buffer.clone() for name, buffer in module.named_buffers()}
    answer = _answer(module, x, about, _always_the_same())
    if x._version:  # torch counts what is written to a tensor
        raise BadInput(
            "The model writes into the rows it is given, as x += 1 does, or nn.ReLU(inplace=True) as a first layer. "
            "Let it work on a tensor of its own."
        )
    for name, buffer in module.named_buffers():
        if not torch.equal(buffer, kept[name]):
            raise BadInput(
                f"The model changes its buffer {name!r} while it trains; only parameters are shared and kept. "
                "Make it constant, or a parameter."
            )
    if answer.isnan().any() or not answer.isfinite().any():
        raise BadInput(
            "The model answers rows of numbers between 0 and 1 with NaN or infinity: nothing can be learned. Look for "
            "a division by zero, a logarithm or a root in it."
        )
    if not answer.requires_grad:
        raise BadInput(
            "The model's answer has no gradient, so nothing can be learned. Leave out detach and no_grad, and let it "
            "follow from parameters."
        )
    _check_gradient(module, answer)
    if not _alike(answer, _answer(module, x, about, _always_the_same())):
        raise BadInput(
            "The model answers the same rows differently each time: it draws random numbers, or keeps something from "
            "call to call. Use nn.Dropout for what is drawn, and keep nothing."
        )
    among_others = _answer(module, torch.cat([x[:1], 2 * x[1:] + 1]), about, _always_the_same())
    if not _alike(answer[:1], among_others[:1]):
        raise BadInput(
            "The model's answer to a record depends on the other records of the batch, as after batch norm. "
            f"{_INSTEAD}."
        )


def _check_gradient(module: nn.Module, answer: Tensor) -> None:
    """Torch finds some mistakes only on the way back."""
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    try:
        torch.autograd.grad(answer.sum(), trained, allow_unused=True)
    except RuntimeError as error:
        why = str(error).partition(": [")[0].rstrip(".")
        raise BadInput(
            f"The model cannot be trained, for its answer has no derivative: {why}. Where it writes into "
            "a tensor (y += 1, relu_), let it make another (y = y + 1, relu)."
        ) from error


def _check_use(module: nn.Module, about: Description) -> None:
    """It answers when it is used as well, and then nothing is dropped."""
    met = KeyedDraws(None)
    _answer(module.eval(), made_up(about.shape, 3), about, met)
    in_training(module)
    if met.drawn:
        raise BadInput(
            "The model drops values when it is used, too. Say when it is trained: nn.functional.dropout(x, p, "
            "self.training), or use nn.Dropout."
        )


def _alike(some: Tensor, others: Tensor) -> bool:
    return torch.allclose(some, others, rtol=1e-4, atol=1e-5, equal_nan=True)


def _always_the_same() -> KeyedDraws:
    return KeyedDraws(torch.tensor(0))


def _answer(module: nn.Module, x: Tensor, about: Description, draws: AbstractContextManager[object]) -> Tensor:
    """What it says to rows like the data's, of the right shape and type."""
    try:
        with draws:
            answer: Tensor = module(x)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise BadInput(f"The model cannot read rows of shape {about.shape}: {error}") from error
    if not isinstance(answer, Tensor) or answer.shape != (len(x), about.outputs):
        got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise BadInput(
            f"The model answers {len(x)} rows of shape {about.shape} with {got}, expected ({len(x)}, {about.outputs}): "
            f"for each row a vector of {about.outputs}."
        )
    if answer.dtype != torch.float32:
        raise BadInput(
            f"The model answers in {answer.dtype}, expected torch.float32: call .float() on what it returns."
        )
    return answer
