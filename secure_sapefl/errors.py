"""Every error this package raises on purpose.

    SapeflError                 a sentence for the person at the keyboard; the command line exits with `exit_code`
    ├── BadInput        (2)     an argument, file or value is wrong; nothing was written
    │   ├── UnknownName (2)     a name nobody registered, with the nearest one that is
    │   ├── Busy        (2)     another process holds the file or folder
    │   ├── StudyRejected (2)   a study file that is not what its coordinator signed, or not one this release can run
    │   └── HomeRejected (2)    a site's folder that is missing, incomplete or open to others
    ├── DataUnavailable (2)     a dataset is neither on disk nor to be fetched
    ├── OutputFailed    (2)     the output folder cannot be written (full, foreign, read-only)
    ├── LedgerRejected  (2)     a ledger was altered, cut or put back; nothing may leave
    └── PolicyConflict  (3)     the study asks for more than the site's policy allows

An error says who, what was expected, and the next step; never key material, never a row of data.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST_NAMED: Final = 30


class SapeflError(Exception):
    exit_code = 1


class BadInput(SapeflError):
    exit_code = 2


class UnknownName(BadInput):
    """``UnknownName("method", "fedvag", ALGORITHMS, "secure-sapefl methods")``."""

    def __init__(self, kind: str, name: str, known: Iterable[str], listing: str = "") -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        more = f" Run `{listing}` for all of them." if listing else ""
        if not (near and listing):
            hint += f" Known: {', '.join(names[:_MOST_NAMED])}{', …' if len(names) > _MOST_NAMED else ''}."
        super().__init__(f"Unknown {kind} {name!r}.{hint}{more}")

    def __reduce__(self) -> tuple[type[BadInput], tuple[str]]:
        """From another process it comes as its sentence."""
        return BadInput, (str(self),)


class DataUnavailable(SapeflError):
    exit_code = 2


class OutputFailed(SapeflError):
    exit_code = 2


class Busy(BadInput):
    pass


class StudyRejected(BadInput):
    pass


class HomeRejected(BadInput):
    pass


class LedgerRejected(SapeflError):
    exit_code = 2


class PolicyConflict(SapeflError):
    exit_code = 3
