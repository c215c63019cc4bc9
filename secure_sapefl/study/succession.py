"""The next study of a programme: everything as in an earlier one, but for a name and who takes part with which key.

A roster is part of what owners consent to, so a site that is replaced or has a new key makes another study. Its rounds
begin anew; what sites spent before stays in their ledgers and counts.
"""

from collections.abc import Mapping, Sequence

from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.errors import BadInput
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import new_study
from secure_sapefl.study.settings import CkksPlan

_ANEW = ("coordinator", "roster", "package")


def successor(
    before: StudyFile,
    name: str,
    coordinator: SitePublicKeys,
    *,
    replace: Mapping[str, SitePublicKeys],
    leave: Sequence[str] = (),
    join: Sequence[SitePublicKeys] = (),
) -> StudyFile:
    """``replace`` has the new keys of a place on the roster, under the same name or another; ``leave`` are names that
    go, ``join`` keys that are added at the end."""
    if name == before.name:
        raise BadInput(f"The next study needs a name of its own: sites keep cohort keys by it, and {name!r} is taken.")
    for known in (*replace, *leave):
        before.index(known)  # or say who is on the roster
    keys = [replace.get(one.name, one) for one in before.sites_keys if one.name not in leave]
    roster = (*keys, *join)
    fields = {key: value for key, value in before.model_dump(exclude_none=True).items() if key not in _ANEW}
    changed = {
        "name": name,
        "preparation": before.scaled_by,  # said aloud, so that it stays what it was
        "records": _records(before, replace, leave),
        "protection": _room_for(before.protection, len(roster)),
    }
    return new_study({**fields, **changed}, coordinator, roster)


def _records(before: StudyFile, replace: Mapping[str, SitePublicKeys], leave: Sequence[str]) -> dict[str, int]:
    """What each place declares, under the name that stands there now."""
    renamed = {old: keys.name for old, keys in replace.items()}
    return {renamed.get(site, site): count for site, count in before.records.items() if site not in leave}


def _room_for(plan: CkksPlan, sites: int) -> dict[str, object]:
    return {**plan.model_dump(), "max_clients": max(sites, plan.max_clients)}
