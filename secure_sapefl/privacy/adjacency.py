"""When two files are neighbours: what every epsilon of this system is about, in the same words wherever one is told."""

from typing import Final

ADJACENCY: Final = (
    "Two files of a site are neighbours if one of them has one record more. What the site declares is public and the "
    "same for both: its number of training records, its columns and its classes. To replace a record is to remove one "
    "and to add one, and has an epsilon of its own."
)
