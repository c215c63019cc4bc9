"""Parts as one piece of bytes: they come back, and what lies about its lengths costs no memory."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import FrameRejected
from secure_sapefl.storage.parts import MOST_PARTS, Parts, from_bytes, read_parts, to_bytes


@given(st.lists(st.binary(max_size=30), max_size=5).map(tuple))
def test_parts_survive_packing(parts: Parts) -> None:
    assert from_bytes(to_bytes(parts)) == parts


@given(st.binary(max_size=60))
def test_any_bytes_are_parts_or_refused(content: bytes) -> None:
    with suppress(FrameRejected):
        assert to_bytes(from_bytes(content)) == content


def test_announced_lengths_cost_no_memory() -> None:
    with pytest.raises(FrameRejected, match="at most"):
        from_bytes((1).to_bytes(4, "big") + (2**62).to_bytes(8, "big"))
    with pytest.raises(FrameRejected, match="at most"):
        from_bytes((2**32 - 1).to_bytes(4, "big"))


def test_the_layout_is_a_count_the_lengths_and_the_parts() -> None:
    assert to_bytes((b"ab", b"")) == bytes([0, 0, 0, 2]) + (2).to_bytes(8, "big") + (0).to_bytes(8, "big") + b"ab"


def test_too_many_parts_or_more_bytes_than_a_reader_takes_are_refused_before_they_are_read() -> None:
    with pytest.raises(FrameRejected, match=f"at most {MOST_PARTS}"):
        from_bytes((MOST_PARTS + 1).to_bytes(4, "big"))
    announced = iter([(1).to_bytes(4, "big"), (100).to_bytes(8, "big")])
    with pytest.raises(FrameRejected, match="at most 99"):
        read_parts(lambda _: next(announced), largest=99)


@pytest.mark.parametrize(("content", "sentence"), [(b"\0\0", "cut short"), (to_bytes((b"a",)) + b"b", "More bytes")])
def test_what_is_cut_or_goes_on_is_no_parts(content: bytes, sentence: str) -> None:
    with pytest.raises(FrameRejected, match=sentence):
        from_bytes(content)
