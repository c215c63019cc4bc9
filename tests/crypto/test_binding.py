"""Different things never share an encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import ValueRejected

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
parts = st.lists(names | st.binary(max_size=30) | st.integers(0, 2**64 - 1), max_size=4)


@given(parts, parts)
def test_binding_is_injective(one, other):
    same = [(type(part), part) for part in one] == [(type(part), part) for part in other]
    assert (bind("label", *one) == bind("label", *other)) == same


def test_binding_known_answer():
    assert bind("l", b"b", 7) == b"s" + bytes(7) + b"\x01lb" + bytes(7) + b"\x01bi" + bytes(7) + b"\x07"


@pytest.mark.parametrize("part", [-1, 2**64, "\ud800"])
def test_what_cannot_be_encoded_is_a_sentence(part):
    with pytest.raises(ValueRejected):
        bind("label", part)
