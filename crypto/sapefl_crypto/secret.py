"""Objects that hold a secret and never say it: not in repr, logs or tracebacks, not through pickle or copy."""

from typing import NoReturn, SupportsIndex, final


class Guarded:
    """Base of every class that holds key material.

    Subclasses use ``__slots__``, so that ``vars()`` has nothing to show. Python objects cannot be wiped from memory
    reliably; what is prevented is the accident (a log line, a crash report, a pickle in a cache), not a debugger.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, contents withheld>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"A {type(self).__name__} is not pickled or copied; pass it on, or write a key file.")


@final
class Secret(Guarded):
    """Secret bytes on their way from one place to the next, for instance into a key file."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def reveal(self) -> bytes:
        return self._content

    def __len__(self) -> int:
        return len(self._content)
