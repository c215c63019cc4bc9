"""Whatever somebody does to the bytes of a chain is found, and the first wrong line is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.storage.chain import Chain, ChainBroken, Head, Link, read_chain, require_counted

FIRST = "ab" * 32
SAID = [{"kind": "approved"}, {"kind": "sent", "epsilon": 1.25}, {"kind": "checked", "note": "ünicode"}]


def chain(count: int = 3) -> tuple[bytes, Head]:
    head, content = Head(0, FIRST), b""
    for fields in SAID[:count]:
        link = Link.after(head, fields)
        head, content = link.head, content + link.to_line()
    return content, head


CONTENT, HEAD = chain()
LINES = CONTENT.splitlines(keepends=True)


def read(content: bytes, counted: Head = HEAD, most_uncounted: int | None = 1) -> Chain:
    found = read_chain(content, FIRST)
    require_counted(found, counted, most_uncounted)
    return found


def test_what_was_written_is_read() -> None:
    found = read(CONTENT)
    assert [link.fields for link in found.links] == SAID
    assert (found.head, found.torn) == (HEAD, b"")
    assert [found.after(lines) for lines in (0, 2, 3, 4, -1)] == [Head(0, FIRST), chain(2)[1], HEAD, None, None]


def test_a_line_is_json_a_person_can_read() -> None:
    assert json.loads(LINES[1]) == {"line": 2, "kind": "sent", "epsilon": 1.25, "chain": chain(2)[1].digest}


@given(place=st.integers(0, len(CONTENT) - 1), byte=st.integers(0, 255))
def test_any_changed_byte_is_found(place: int, byte: int) -> None:
    altered = CONTENT[:place] + bytes([byte]) + CONTENT[place + 1 :]
    if altered == CONTENT:
        return
    with pytest.raises(ChainBroken, match=r"line [123] "):
        read(altered)


@given(place=st.integers(0, len(CONTENT)), more=st.binary(min_size=1, max_size=4))
def test_bytes_put_in_are_found(place: int, more: bytes) -> None:
    altered = CONTENT[:place] + more + CONTENT[place:]
    if place == len(CONTENT) and b"\n" not in more:
        assert read(altered).torn == more
        return
    with pytest.raises(ChainBroken):
        read(altered)


@given(st.lists(st.sampled_from(LINES), max_size=5))
def test_lines_lost_moved_or_repeated_are_found(picked: list[bytes]) -> None:
    if picked == LINES:
        return
    with pytest.raises(ChainBroken):
        read(b"".join(picked))


@given(st.integers(0, len(CONTENT) - 1))
def test_a_tail_cut_anywhere_is_found(length: int) -> None:
    with pytest.raises(ChainBroken, match="is missing, and all up to line 3"):
        read(CONTENT[:length])


@pytest.mark.parametrize(
    ("altered", "sentence"),
    [
        ([LINES[0], LINES[1].replace(b"1.25", b"0.25"), LINES[2]], "line 2 does not follow"),
        ([LINES[0], LINES[1].replace(b'":1.25', b'": 1.25'), LINES[2]], "line 2 does not follow"),
        ([LINES[0], b"nonsense\n", LINES[2]], "line 2 is not an entry"),
        ([LINES[0], LINES[2]], "line 2 does not follow"),
        ([LINES[1], LINES[0], LINES[2]], "line 1 does not follow"),
        (LINES[:2], "line 3 is missing"),
        ([b"[]\n"], "line 1 is not an entry"),
        ([b"{}\n"], "line 1 is not an entry"),
        ([b"\xff\n"], "line 1 is not an entry"),
        ([], "line 1 is missing"),
    ],
)
def test_the_wrong_line_is_named(altered: list[bytes], sentence: str) -> None:
    with pytest.raises(ChainBroken, match=sentence):
        read(b"".join(altered))


def test_lines_the_head_does_not_count_are_what_one_crash_leaves() -> None:
    two, _ = chain(2)
    shorter = chain(1)[1]
    assert read(two, shorter).head.lines == 2
    with pytest.raises(ChainBroken, match="line 2 and those after it were added"):
        read(CONTENT, shorter)
    assert read(CONTENT, shorter, None).head == HEAD


def test_a_file_written_anew_is_found_by_the_head() -> None:
    link = Link.after(chain(2)[1], {"kind": "other"})
    with pytest.raises(ChainBroken, match="line 3 is not the one the head names"):
        read(b"".join([*LINES[:2], link.to_line()]))


def test_what_json_cannot_say_exactly_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Link.after(HEAD, {"epsilon": float("nan")})
