"""Who may have spoilt a sum: a search by leaving sites out, one sum a round.

A frame with wrong tags spoils the sum it is added to. Nobody can see which frame it was: the server has no key, and
sites are shown sums only. So each following round leaves out a part of the suspects. If its sum holds, the author was
in that part; if not, among the others. One author who goes on is found in as many rounds as the suspects can be halved.
One who stops is not found, and does no harm. One who only acts in chosen rounds can have another site suspected; the
search begins anew when a sum without that site is spoilt.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from secure_sapefl.protocol.messages import SiteId


@dataclass(frozen=True, slots=True)
class Trial:
    """A sum, and whether it was what the server claims."""

    senders: frozenset[SiteId]
    held: bool


def suspects(trials: Iterable[Trial]) -> frozenset[SiteId]:
    """Who was in every spoilt sum since the search began, and in no sound one; nobody where there is no search."""
    found: frozenset[SiteId] = frozenset()
    for one in trials:
        if one.held:
            found -= one.senders
        else:
            found = found & one.senders or one.senders
    return found


def to_leave_out(suspected: frozenset[SiteId], cohort: Sequence[SiteId], least: int) -> tuple[SiteId, ...]:
    """Half of the suspects in this cohort, rounded up, or as many as leave ``least`` sites; the first in its order."""
    here = [site for site in cohort if site in suspected]
    most = max(0, len(cohort) - least)
    return tuple(here[: min(most, -(-len(here) // 2))])
