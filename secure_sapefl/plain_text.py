"""Words another party wrote, made fit to be shown: printable, on one line, of bounded length.

A terminal obeys escape sequences, a log believes line ends, and a sentence of 20 MB fills what it is copied to.
"""

from typing import Final

LONGEST_SENTENCE: Final = 300
LONGEST_NAME: Final = 128


def printable(text: object) -> str:
    """What no terminal, page or XML file should be given becomes a replacement character."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def sentence(text: object, longest: int = LONGEST_SENTENCE) -> str:
    """One line of printable text; what is longer is cut, and says so."""
    words = str(text)
    return printable(words) if len(words) <= longest else printable(words[: longest - 1]) + "…"


def is_name(text: object) -> bool:
    return isinstance(text, str) and text.isprintable() and 1 <= len(text) <= LONGEST_NAME
