"""Where tensors live, and how many sites are handled at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Model
from secure_sapefl.training.compiled import CompiledSteps
from secure_sapefl.training.stack_step import step_
from secure_sapefl.training.trainer import STACK_BYTES, BatchedTrainer, SequentialTrainer, Trainer

_COPIES = 12  # models a site of a group needs at once: weights, gradients, anchors, update, what autograd keeps
_CPU_GROUP_BYTES = 24 << 20  # groups small enough that encryption of one overlaps training of the next


def resolve_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadInput(f"Device {name!r} was asked for and is not there. Use --device auto or --device cpu.")
    return device


@contextmanager
def cpu_threads(asked: int | None) -> Iterator[None]:
    """Torch on all cores but one, which is left to encryption.

    The default does not depend on the protection: sums are rounded differently by another number of threads, and an
    encrypted run and its plaintext twin are to give the same bits.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(asked or max(1, (os.cpu_count() or 1) - 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def group_size(parameters: int, device: torch.device, asked: int | None) -> int:
    """How many sites are handled at once: what was asked for, else what half the free memory holds."""
    if asked is not None:
        return asked
    model_bytes = 4 * parameters
    fits = free_bytes(device) // 2 // (_COPIES * model_bytes)
    return max(1, fits if device.type == "cuda" else min(fits, _CPU_GROUP_BYTES // model_bytes))


def make_trainer(engine: str, model: Model, device: torch.device) -> Trainer:
    if engine == "sequential" or model.unstackable is not None:
        return SequentialTrainer(model)
    stack_bytes = STACK_BYTES if device.type == "cpu" else None
    return BatchedTrainer(model, stack_bytes, CompiledSteps() if engine == "compiled" else step_)
