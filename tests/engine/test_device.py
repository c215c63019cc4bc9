"""Where tensors live, and how many sites are handled at a time."""

import pytest
import torch

from secure_sapefl.engine import device
from secure_sapefl.engine.device import cpu_threads, group_size, make_trainer, resolve_device
from secure_sapefl.errors import BadInput
from secure_sapefl.models.stacked import build_model
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer

CPU, CARD = torch.device("cpu"), torch.device("cuda")


def test_auto_is_the_card_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, found in ((True, CARD), (False, CPU)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert resolve_device("auto") == found


def test_a_card_that_is_not_there_is_refused_and_nothing_else_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert resolve_device("cuda:0") == torch.device("cuda:0")
    with pytest.raises(BadInput, match="'cuda:1' was asked for and is not there"):
        resolve_device("cuda:1")


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with cpu_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("where", "free", "parameters", "size"),
    [
        (CARD, 96_000, 100, 10),  # half of 96,000 bytes, twelve copies of 400 bytes a site
        (CPU, 96_000, 100, 10),
        (CPU, 1 << 60, 1 << 20, 6),  # 24 MB of models of 4 MB
        (CARD, 1, 100, 1),
    ],
    ids=["card", "cpu", "cpu with all the memory", "no memory"],
)
def test_groups_fill_half_the_free_memory(
    monkeypatch: pytest.MonkeyPatch, where: torch.device, free: int, parameters: int, size: int
) -> None:
    monkeypatch.setattr(device, "free_bytes", lambda _: free)
    assert group_size(parameters, where, None) == size
    assert group_size(parameters, where, 3) == 3


def test_the_engine_is_the_one_that_was_asked_for() -> None:
    model = build_model((4,), 2, "small")
    assert isinstance(make_trainer("sequential", model, CPU), SequentialTrainer)
    assert isinstance(make_trainer("batched", model, CPU), BatchedTrainer)
