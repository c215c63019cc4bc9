"""What is no count, name or text is refused; a piece is named by its digest."""

from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.transport.heads.values import (
    behind_the_head,
    bytes_as_text,
    read_bytes,
    read_count,
    read_name,
    read_nonce,
    read_total,
    read_words,
)


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        *((read_count, wrong) for wrong in (-1, 2**32, 1.0, True, "1", None)),
        *((read_total, wrong) for wrong in (-1, 2**53, 1.0, True, "1", None)),
        *((read_name, wrong) for wrong in ("", "two\nlines", "x" * 1000, 7, None)),
        *((read_nonce, wrong) for wrong in ("x" * 65, 7, None)),
        *((read_bytes, wrong) for wrong in (b"raw", 7, None, "not base64!")),
    ],
    ids=lambda value: getattr(value, "__name__", ascii(value)[:20]),
)
def test_what_is_no_count_name_nonce_or_text_is_refused(read: Callable[[Any], object], wrong: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(wrong)


def test_what_is_one_is_taken_as_it_is() -> None:
    assert read_count(2**32 - 1) == 2**32 - 1
    assert read_total(2**53 - 1) == 2**53 - 1
    assert read_name("north-1") == "north-1"
    assert read_nonce("n" * 64) == "n" * 64
    assert read_bytes(bytes_as_text(b"\0\xff")) == b"\0\xff"
    assert read_words(None) is None
    assert read_words("two\nlines") == "two\N{REPLACEMENT CHARACTER}lines"


def test_a_piece_goes_behind_the_head_and_leaves_its_digest() -> None:
    pieces: list[bytes] = []
    assert behind_the_head(b"sum", pieces) == "09f5ffef28309853265c4a98d0e56e1be522b6b402d8193594fd05103064fc6a"
    assert behind_the_head(None, pieces) is None
    assert pieces == [b"sum"]
