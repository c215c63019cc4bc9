"""Weights to start from, out of a file: a state_dict in torch's or in safetensors' form. Nothing in it is executed."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Model, flat, loaded


@dataclass(frozen=True, slots=True)
class State:
    path: Path
    tensors: Mapping[str, Tensor]
    digest: str


def read_state(path: Path) -> State:
    """A file of named tensors and nothing else."""
    try:
        content = path.read_bytes()
        tensors = _safetensors(content) if path.suffix == ".safetensors" else torch.load(path, weights_only=True)
    except OSError as error:
        raise BadInput(f"--init: cannot read {path} ({error.strerror}).") from None
    except Exception as error:  # of any kind: torch reads what somebody else wrote, in several old formats
        raise BadInput(f"--init: {path} is no state_dict ({type(error).__name__}). {_HOW}") from None
    if not isinstance(tensors, Mapping) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise BadInput(f"--init: {path} holds something else than named tensors. {_HOW}")
    return State(path, dict(tensors), hashlib.sha256(content).hexdigest()[:32])


_HOW = "Write one with torch.save(module.state_dict(), ...) or safetensors.torch.save_file."


def _safetensors(content: bytes) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def started_from(model: Model, theta: Tensor, state: State) -> tuple[Tensor, str]:
    """``theta`` [P] with the weights the file names, and what was taken, in words; a name or shape that does not fit is
    refused."""
    module = loaded(model, theta)
    known = module.state_dict()
    for name, tensor in state.tensors.items():
        if name not in known:
            raise BadInput(
                f"--init: {state.path} has {name!r}, the model has no such part. It has: {', '.join(known)}."
            )
        if tensor.shape != known[name].shape:
            raise BadInput(
                f"--init: {name!r} has shape {tuple(tensor.shape)} in {state.path} and {tuple(known[name].shape)} in "
                "the model. Leave it out of the file to begin there anew."
            )
        if tensor.isnan().any():
            raise BadInput(f"--init: {name!r} in {state.path} holds NaN: nothing can be learned from there.")
    module.load_state_dict(dict(state.tensors), strict=False)
    fresh = [name for name in known if name not in state.tensors]
    taken = f"{len(state.tensors)} of {len(known)} tensors from {state.path.name}"
    return flat(model, module), taken if not fresh else f"{taken}; begun anew: {', '.join(fresh)}"
