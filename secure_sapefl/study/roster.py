"""Who takes part in a study: a coordinator and sites, each by a name and keys of its own."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Annotated, Final

from pydantic import AfterValidator

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.errors import StudyRejected

SMALLEST_ROSTER: Final = 2
_TAKEN: Final = ("outcome", "server")  # a file of the server's, and who speaks where the server does

read_keys = lru_cache(maxsize=1 << 12)(SitePublicKeys.from_text)
"""Keys from their text; reading them checks points on curves, so each text is read once."""


def _sound(text: str) -> str:
    try:
        return read_keys(text).to_text()
    except KeyRejected as error:
        raise ValueError(str(error).removesuffix(".")) from None


PublicKey = Annotated[str, AfterValidator(_sound)]
"""A line as `keys site` writes it to a .pub file, with keys that are fit for use."""

_HELD: Final[dict[str, Callable[[SitePublicKeys], object]]] = {
    "name": lambda keys: keys.name.casefold(),
    "signing key": lambda keys: keys.signing,
    "sealing key": lambda keys: keys.sealing,
}


def require_distinct(parties: Sequence[SitePublicKeys]) -> None:
    """Every name and key once: whoever held two places would count twice, and could hide in a cohort of one."""
    for what, held in _HELD.items():
        for one, other in combinations(parties, 2):
            if held(one) == held(other):
                raise StudyRejected(
                    f"{one.name!r} and {other.name!r} have the same {what}; coordinator and sites each need their own."
                )


def require_free_names(sites: Sequence[SitePublicKeys]) -> None:
    """No site is called what something else of a study is called already."""
    for site in sites:
        if site.name.casefold() in _TAKEN:
            raise StudyRejected(f"A site cannot be called {site.name!r}: the server uses that name. Choose another.")
