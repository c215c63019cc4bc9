"""Bytes between agent and trainer: read without running anything, refused before memory is used."""

import json
import pickle
from collections.abc import Callable

import pytest
import torch
from safetensors.torch import save

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.site.trainer.messages import Message, read_message, size_of
from secure_sapefl.storage.parts import to_bytes


def reader(content: bytes) -> Callable[[int], bytes]:
    place = 0

    def exactly(count: int) -> bytes:
        nonlocal place
        place += count
        return content[place - count : place]

    return exactly


def test_words_and_tensors_come_out_as_they_went_in() -> None:
    sent = Message({"do": "round", "round": 3}, {"a": torch.arange(4.0), "b": torch.ones(2, 1, dtype=torch.bool)})
    found = read_message(reader(sent.to_bytes()))
    assert found.words == sent.words
    assert all(torch.equal(found.tensors[name], sent.tensors[name]) for name in sent.tensors)


def test_one_tensor_under_two_names_travels_twice() -> None:
    """As a personal model does that is kept and shared."""
    theta = torch.arange(3.0)
    found = read_message(reader(Message({}, {"state": theta, "shared": theta}).to_bytes()))
    assert torch.equal(found.tensors["state"], found.tensors["shared"])


@pytest.mark.parametrize(
    "content",
    [
        to_bytes((pickle.dumps({"do": 1}), save({}))),
        to_bytes((b"[1]", save({}))),
        to_bytes((b"{}", pickle.dumps([1]))),
        to_bytes((b"{}", save({})[:-1])),
        to_bytes((b"{}",)),
        to_bytes((b"{}", save({}), b"more")),
        to_bytes((b"[" * 100_000, save({}))),
        to_bytes((b"{}", b"\xff" * 16)),
    ],
)
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(FrameRejected):
        read_message(reader(content))


def test_a_message_larger_than_was_asked_for_is_refused_by_its_length_alone() -> None:
    content = Message({}, {"a": torch.zeros(1 << 20)}).to_bytes()
    with pytest.raises(FrameRejected, match="bytes were announced"):
        read_message(reader(content[:100]), largest=8)


def test_tensors_must_be_exactly_those_expected() -> None:
    expected = {"a": torch.empty(2, 3, device="meta")}
    assert size_of(expected) == 24
    assert Message({}, {"a": torch.zeros(2, 3)}).like(expected)["a"].shape == (2, 3)
    for wrong in ({"a": torch.zeros(3, 2)}, {"a": torch.zeros(2, 3).int()}, {"b": torch.zeros(2, 3)}, {}):
        with pytest.raises(FrameRejected):
            Message({}, wrong).like(expected)


def test_words_are_json() -> None:
    content = Message({"x": 1}).to_bytes()
    assert json.dumps({"x": 1}).encode() in content
