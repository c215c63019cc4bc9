"""The columns of a table as a model gets them: numbers, categories, yes or no, and dates."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from secure_sapefl.config import Settings
from secure_sapefl.data.prepare import Range
from secure_sapefl.errors import BadInput

_LONGEST_NAME = 100


def is_name(text: str) -> bool:
    """Names are shown on terminals and pages, and looked for in header lines."""
    return text.isprintable() and text == text.strip() and 1 <= len(text) <= _LONGEST_NAME


def _plain(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"a name has 1 to {_LONGEST_NAME} printable characters and no spaces around them")
    return name


Name = Annotated[str, AfterValidator(_plain)]
Names = Annotated[tuple[Name, ...], Field(min_length=2)]


def distinct(names: Sequence[str], what: str) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"The {what} {twice[0]!r} appears twice; every {what} needs a name of its own.")
    return tuple(names)


class Numeric(Settings):
    """A number. ``low`` and ``high`` are what is possible anywhere, not what a site has seen; ``typical`` stands for a
    missing one, the middle of the range where not given."""

    name: Name
    kind: Literal["numeric"] = "numeric"
    low: float | None = None
    high: float | None = None
    typical: float | None = None
    may_be_missing: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise BadInput(f"{self.name!r} has half a range; give both low and high, or neither.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise BadInput(f"{self.name!r} ranges from {self.low:g} to {self.high:g}; low must be below high.")
        if self.typical is not None and (self.range is None or not self.range.low <= self.typical <= self.range.high):
            raise BadInput(f"{self.name!r}: its typical value {self.typical:g} is not within a range; give one.")
        return self

    @property
    def range(self) -> Range | None:
        if self.low is None or self.high is None:
            return None
        return Range(self.low, self.high, (self.low + self.high) / 2 if self.typical is None else self.typical)

    @property
    def columns(self) -> int:
        return 1


class Categorical(Settings):
    """One of a few texts; the model gets a column of 0 and 1 for each level."""

    name: Name
    kind: Literal["categorical"] = "categorical"
    levels: Names
    may_be_missing: bool = False

    @field_validator("levels")
    @classmethod
    def _distinct(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(levels, "level")

    @property
    def columns(self) -> int:
        return len(self.levels)


class Boolean(Settings):
    """Yes or no, however a file spells it; what is missing is neither."""

    name: Name
    kind: Literal["boolean"] = "boolean"
    may_be_missing: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        return ("no", "yes")

    @property
    def columns(self) -> int:
        return len(self.levels)


class Date(Settings):
    """A day, which the model sees as days after ``reference``. ``low`` and ``high`` are the first and last possible."""

    name: Name
    kind: Literal["date"] = "date"
    reference: date = date(2000, 1, 1)
    low: date | None = None
    high: date | None = None
    format: str = "%Y-%m-%d"
    may_be_missing: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise BadInput(f"{self.name!r} has half a range; give both low and high, or neither.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise BadInput(f"{self.name!r} ranges from {self.low} to {self.high}; low must be before high.")
        return self

    def days(self, day: date) -> float:
        return float((day - self.reference).days)

    @property
    def range(self) -> Range | None:
        if self.low is None or self.high is None:
            return None
        low, high = self.days(self.low), self.days(self.high)
        return Range(low, high, (low + high) / 2)

    @property
    def columns(self) -> int:
        return 1


Feature = Numeric | Categorical | Boolean | Date
Measured = Numeric | Date
"""Features that the model sees as one number."""
_KINDS: Final[Mapping[object, type[Feature]]] = {
    "numeric": Numeric,
    "categorical": Categorical,
    "boolean": Boolean,
    "date": Date,
}


def read_feature(values: Any) -> Feature:
    if not isinstance(values, Mapping):
        return values  # type: ignore[no-any-return]  # a feature already, or pydantic says what is wrong
    kind, where = values.get("kind", "numeric"), f"feature {values.get('name', '?')!r}"
    if kind not in _KINDS:
        raise BadInput(f"{where}: kind = {kind!r} is not possible: a feature is numeric, categorical, boolean or date.")
    return _KINDS[kind].read(values, where)
