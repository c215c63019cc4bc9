"""What a module of one's own must be, tried before anything is trained; every refusal names the culprit and a way out.

Refused is what cannot be one vector a site that is trained, added up and compared: statistics that a layer keeps for
itself would be a second, unprotected message, and a layer that mixes the records of a batch lets padding speak, and
one record through another's gradient.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.probing import made_up

_NORMS = (nn.modules.batchnorm._NormBase,)  # torch's common name for batch and instance norm
_INSTEAD = "Use nn.GroupNorm or nn.LayerNorm instead, or freeze it (requires_grad_(False))."


def materialised(module: object, about: Description) -> nn.Module:
    """The module with everything made that it makes on first sight of a row; or why it cannot be used."""
    if not isinstance(module, nn.Module):
        raise BadInput(f"The model's function gave {type(module).__name__}, expected a torch.nn.Module.")
    if any(isinstance(parameter, UninitializedParameter) for parameter in module.parameters()):
        _answer(module.eval(), torch.zeros(2, *about.shape), about)
    return module


def check(module: nn.Module, about: Description) -> None:
    """All refusals in turn; ``module`` is in training, as `in_training` leaves it."""
    _check_weights(module)
    _check_layers(module)
    kept = {name: buffer.clone() for name, buffer in module.named_buffers()}
    _check_answer(module, about)
    for name, buffer in module.named_buffers():
        if not torch.equal(buffer, kept[name]):
            raise BadInput(
                f"The model changes its buffer {name!r} while it trains; only parameters are shared and kept. "
                "Make it constant, or a parameter."
            )


def in_training(module: nn.Module) -> nn.Module:
    """Ready to be trained: a norm that is frozen keeps the statistics it came with."""
    module.train()
    for _, norm in _frozen_norms(module):
        norm.eval()
    return module


def _check_weights(module: nn.Module) -> None:
    trained = [(name, weight) for name, weight in module.named_parameters() if weight.requires_grad]
    if not trained:
        raise BadInput("The model has no parameter to train: all are frozen. Leave some with requires_grad = True.")
    for name, weight in trained:
        if weight.dtype != torch.float32:
            raise BadInput(f"The model's {name!r} holds {weight.dtype}, expected torch.float32: call .float() on it.")


def _check_layers(module: nn.Module) -> None:
    frozen = {name for name, _ in _frozen_norms(module)}
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        if isinstance(layer, _NORMS) and layer.track_running_stats and name not in frozen:
            raise BadInput(
                f"The model's {name!r} ({kind}) keeps running statistics of the site's records, which would be shared "
                f"unprotected. {_INSTEAD}"
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


def _check_answer(module: nn.Module, about: Description) -> None:
    """The right shape, and a record's answer is its own: another one's neighbours do not change it."""
    x = made_up(about.shape, 3)
    with torch.no_grad(), KeyedDraws(torch.tensor(0)):
        answer = _answer(module, x, about)
    if not isinstance(answer, Tensor) or answer.shape != (3, about.outputs):
        got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise BadInput(
            f"The model answers 3 rows of shape {about.shape} with {got}, expected (3, {about.outputs}): for each row "
            f"a vector of {about.outputs}."
        )
    with torch.no_grad(), KeyedDraws(torch.tensor(0)):
        among_others = _answer(module, torch.cat([x[:1], 2 * x[1:] + 1]), about)
    if not torch.allclose(answer[:1], among_others[:1], rtol=1e-4, atol=1e-5, equal_nan=True):
        raise BadInput(
            f"The model's answer to a record depends on the other records of the batch, as after batch norm. {_INSTEAD}"
        )


def _answer(module: nn.Module, x: Tensor, about: Description) -> Tensor:
    try:
        with torch.no_grad():
            answer: Tensor = module(x)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise BadInput(f"The model cannot read rows of shape {about.shape}: {error}") from error
    return answer
