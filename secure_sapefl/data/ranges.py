"""Public ranges of a table's columns, from a file: what a study agrees on before it sees a row.

age = [20, 100]           # lowest and highest plausible value
pressure = [80, 200, 130] # and, third, what stands for a missing one; the middle where not given
"""

import math
from collections.abc import Sequence
from pathlib import Path

from secure_sapefl.config import read_toml
from secure_sapefl.data.prepare import PublicScale, Range
from secure_sapefl.errors import BadInput


def public_scale(path: Path, columns: Sequence[str]) -> PublicScale:
    """The scale of a table with these columns; every one of them needs a range, and no other may have one."""
    ranges = read_toml(path.expanduser())
    missing = [name for name in columns if name not in ranges]
    unknown = [name for name in ranges if name not in columns]
    if missing:
        raise BadInput(f"{path.name} has no range for column {missing[0]!r}. Write: {missing[0]} = [lowest, highest].")
    if unknown:
        raise BadInput(f"{path.name}: {unknown[0]!r} is no column of the table; columns: {', '.join(columns)}.")
    return PublicScale(tuple(_range(path, name, ranges[name]) for name in columns))


def _range(path: Path, name: str, value: object) -> Range:
    numbers = value if isinstance(value, list) else []
    sound = len(numbers) in (2, 3) and all(_finite(one) for one in numbers)
    if not sound or not numbers[0] < numbers[1] or not numbers[0] <= numbers[-1] <= numbers[1]:
        raise BadInput(
            f"{path.name}: the range of {name!r} is {value!r}, expected [lowest, highest] or "
            "[lowest, highest, typical], for instance [20, 100]."
        )
    low, high, *typical = (float(number) for number in numbers)
    return Range(low, high, typical[0] if typical else (low + high) / 2)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
