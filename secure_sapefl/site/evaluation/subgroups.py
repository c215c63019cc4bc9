"""Groups of a site's own records that its owner names, to see for whom the model works (`judge_by` in policy.toml).

`sex` is a group for each level of that column, `age < 65` one on either side. Any column of the site's table can be
named, one that the study ignores too. Records without a value are a group of their own: they are patients as well.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import ImageSchema, Schema
from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import printable

MOST_LEVELS: Final = 20
_CUT: Final = re.compile(r"^(?P<column>.*\S)\s*<\s*(?P<at>[-+]?\d+(\.\d+)?)$")


@dataclass(frozen=True, slots=True)
class Subgroup:
    name: str
    member: NDArray[np.bool_]  # of each held-out row, in their order


def subgroups(
    path: Path, schema: Schema, judge_by: Sequence[str], rows: NDArray[np.int64]
) -> tuple[tuple[Subgroup, ...], tuple[str, ...]]:
    """The groups among ``rows`` (numbers of records in the file), and what was named that this table does not have:
    one policy is for all studies, and their tables differ."""
    if not judge_by:
        return (), ()
    if isinstance(schema, ImageSchema):
        return (), tuple(judge_by)
    columns, found, absent = read_columns(path, schema), [], []
    for said in judge_by:
        column, name = _asked(said)
        if column not in columns.cells:
            absent.append(said)
            continue
        found += _groups([name(cell) for cell in _cells(columns, column, rows)], said)
    return tuple(found), tuple(absent)


def _asked(said: str) -> tuple[str, Callable[[str], str]]:
    """The column that is meant, and what a record's group is called by its cell there."""
    cut = _CUT.match(said)
    if cut is None:
        return said, lambda cell: f"{said}: {'missing' if is_missing(cell) else printable(cell)}"
    column, at = cut["column"], cut["at"]
    return column, lambda cell: f"{column} {_side(cell, float(at))}{at}"


def _side(cell: str, at: float) -> str:
    try:
        return "< " if float(cell) < at else "≥ "
    except ValueError:
        return "missing, asked for < "


def _cells(columns: Columns, column: str, rows: NDArray[np.int64]) -> list[str]:
    cells = columns.named(column)
    return [cells[row] for row in rows]


def _groups(names: Sequence[str], said: str) -> list[Subgroup]:
    levels = sorted(set(names))
    if len(levels) > MOST_LEVELS:
        raise BadInput(
            f"policy.toml, judge_by: {said!r} makes {len(levels)} groups of this site's test records, more than "
            f'{MOST_LEVELS}. Cut numbers in two, for instance "{said} < 65", or name another column.'
        )
    named = np.array(names)
    return [Subgroup(level, named == level) for level in levels]
