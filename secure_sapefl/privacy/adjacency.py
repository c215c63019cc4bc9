"""When two files are neighbours: what every epsilon of this system is about, in the same words wherever one is told."""

from typing import Final

ADJACENCY: Final = (
    "Two files of a site are neighbours if one of them has one record more. What the site declares is public and the "
    "same for both: its number of training records, its columns and its classes. To replace a record is to remove one "
    "and to add one, and has an epsilon of its own."
)

WHOLE_SITE: Final = (
    "Two studies are neighbours if all records of one site are in one of them and none in the other. What the site "
    "declares is public and the same for both, and so is that it takes part: it sends noise either way."
)


def adjacency(unit: str) -> str:
    """What an epsilon for this unit is about."""
    return WHOLE_SITE if unit == "site" else ADJACENCY
