"""What goes through the pipe between agent and trainer: a few words as JSON, and tensors by name as safetensors.

Neither form can run anything when it is read. The trainer's messages were perhaps written by hostile code: a length is
refused before memory is used, and what a tensor is called, its type and its shape are compared with what was asked for.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.storage.parts import LARGEST, read_parts, to_bytes

_WORDS = 1 << 20  # bytes that a message may have beside its tensors


@dataclass(frozen=True, slots=True)
class Message:
    words: Mapping[str, Any]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Each tensor by itself, also where two of them are one in memory."""
        whole = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.tensors.items()}
        return to_bytes((json.dumps(self.words).encode(), save(whole)))

    def like(self, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Its tensors, where they have exactly the names, types and shapes of those that were ``expected``."""
        if self.tensors.keys() != expected.keys():
            raise FrameRejected(f"tensors {sorted(self.tensors)} came, {sorted(expected)} were asked for")
        for name, tensor in self.tensors.items():
            like = expected[name]
            if (tensor.dtype, tensor.shape) != (like.dtype, like.shape):
                raise FrameRejected(
                    f"{name!r} is {tensor.dtype} of shape {tuple(tensor.shape)}, expected {like.dtype} of shape "
                    f"{tuple(like.shape)}"
                )
        return dict(self.tensors)


def read_message(exactly: Callable[[int], bytes], largest: int = LARGEST) -> Message:
    """From a reader that gives as many bytes as asked for; at most ``largest`` bytes of tensors."""
    parts = read_parts(exactly, min(LARGEST, largest + _WORDS))
    try:
        words, tensors = json.loads(parts[0]), load(parts[1])
    except (ValueError, IndexError, KeyError, RecursionError, SafetensorError):
        raise FrameRejected("bytes came that are no message") from None
    if len(parts) != 2 or not isinstance(words, dict):
        raise FrameRejected("bytes came that are no message")
    return Message(words, tensors)


def size_of(tensors: Mapping[str, Tensor]) -> int:
    """Bytes that they fill."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
