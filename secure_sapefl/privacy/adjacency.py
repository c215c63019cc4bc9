"""When two files are neighbours: what every epsilon of this system is about, in the same words wherever one is told."""

from collections.abc import Mapping
from typing import Final

from secure_sapefl.config import PrivacyUnit

ADJACENCY: Final = (
    "Two files of a site are neighbours if one of them has one record more. What the site declares is public and the "
    "same for both: its number of training records, its columns and its classes. To replace a record is to remove one "
    "and to add one, and has an epsilon of its own."
)

WHOLE_SITE: Final = (
    "Two studies are neighbours if all records of one site are in one of them and none in the other. What the site "
    "declares is public and the same for both, and so is that it takes part: it sends noise either way."
)

WHOLE_PERSON: Final = (
    "Two files of a site are neighbours if one of them has the records of one person more, however many. What the site "
    "declares is public and the same for both: its numbers of persons and of training records, its columns and its "
    "classes. A person with records at several sites is protected at each of them, and by less at all together."
)

_BY_UNIT: Final[Mapping[PrivacyUnit, str]] = {"record": ADJACENCY, "person": WHOLE_PERSON, "site": WHOLE_SITE}


def adjacency(unit: PrivacyUnit) -> str:
    """What an epsilon for this unit is about."""
    return _BY_UNIT[unit]
