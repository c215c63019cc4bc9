"""Lines of JSON that form a chain: each has its number and the digest of itself and of all before it. No files here.

A line is one canonical rendering of its fields: a byte changed anywhere, even to one that reads the same, is found.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Fields = Mapping[str, Any]


class ChainBroken(ValueError):
    """``number`` is the first line that is wrong, ``what`` what is wrong with it."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"line {number} {what}")
        self.number, self.what = number, what


@dataclass(frozen=True, slots=True)
class Head:
    """How far a chain goes: its number of lines, and the digest of the last."""

    lines: int
    digest: str


@dataclass(frozen=True, slots=True)
class Link:
    """A line. ``fields`` are what was written, without its number and its digest."""

    number: int
    fields: Fields
    digest: str

    @classmethod
    def after(cls, head: Head, fields: Fields) -> "Link":
        number = head.lines + 1
        content = canonical({"line": number, **fields})
        return cls(number, fields, hashlib.sha256(bytes.fromhex(head.digest) + content).hexdigest())

    @property
    def head(self) -> Head:
        return Head(self.number, self.digest)

    def to_json(self) -> dict[str, Any]:
        return {"line": self.number, **self.fields, "chain": self.digest}

    def to_line(self) -> bytes:
        return canonical(self.to_json()) + b"\n"


ReadLink = Callable[[bytes, Head], Link]
"""The link that a line (without its end) makes after a head; an error of `json` or a lost key where it makes none."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A log read to its end. ``torn`` are the bytes of a last line that a crash left unfinished."""

    first: Head
    links: tuple[Link, ...]
    torn: bytes

    @property
    def head(self) -> Head:
        return self.links[-1].head if self.links else self.first

    def after(self, lines: int) -> Head | None:
        """The head it had when it was so many lines long; None if it never was."""
        if not 0 <= lines <= len(self.links):
            return None
        return self.links[lines - 1].head if lines else self.first


def read_link(line: bytes, before: Head) -> Link:
    fields = json.loads(line)
    claimed = fields.pop("chain")
    del fields["line"]
    link = Link.after(before, fields)
    if (link.digest, link.to_line()) != (claimed, line + b"\n"):
        raise ChainBroken(link.number, "does not follow from the lines before it: one was changed, moved or lost")
    return link


def read_chain(content: bytes, first: str, read: ReadLink = read_link) -> Chain:
    """Every line, each shown to follow from those before it; `ChainBroken` names the first that does not."""
    *whole, torn = content.split(b"\n")
    start = Head(0, first)
    return Chain(start, tuple(_links(whole, start, read)), torn)


def require_counted(chain: Chain, counted: Head, most_uncounted: int | None) -> None:
    """All lines must be there that a head, kept apart from them, counts.

    More lines than it counts are what a crash leaves between writing them and writing the head: at most
    ``most_uncounted``, where that many are written at once.
    """
    lines = chain.head.lines
    if lines < counted.lines:
        raise ChainBroken(lines + 1, f"is missing, and all up to line {counted.lines} that the head counts")
    if chain.after(counted.lines) != counted:
        raise ChainBroken(
            counted.lines, "is not the one the head names: the file was replaced, or written anew from there on"
        )
    if most_uncounted is not None and lines > counted.lines + most_uncounted:
        raise ChainBroken(counted.lines + 1, "and those after it were added by somebody who could not write the head")


def canonical(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _links(lines: list[bytes], head: Head, read: ReadLink) -> Iterator[Link]:
    for line in lines:
        try:
            link = read(line, head)
        except ChainBroken:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ChainBroken(head.lines + 1, "is not an entry") from None
        yield link
        head = link.head
