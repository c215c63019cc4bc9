"""Downloads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fetcher:
    pass
