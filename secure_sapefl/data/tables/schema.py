"""What records must look like, said without any record: columns with kinds and roles, or the shape of images.

The schema is public, and one for simulations and deployed studies. It gives the model its shape, mock data its values,
and a file something to be held to.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

import tomli_w
from pydantic import Field, field_validator, model_validator

from secure_sapefl.config import Settings, read_toml
from secure_sapefl.data.tables.features import (
    Boolean,
    Feature,
    Measured,
    Name,
    Names,
    Numeric,
    distinct,
    read_feature,
)
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import CLASSES, Labels, Scale


class Target(Settings):
    """A label that is a number. ``low`` and ``high`` are what is possible anywhere; they put it on a model's scale."""

    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise BadInput("target has half a range; give both low and high, or neither.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise BadInput(f"target ranges from {self.low:g} to {self.high:g}; low must be below high.")
        return self

    @property
    def scale(self) -> Scale | None:
        return None if self.low is None or self.high is None else Scale.from_ranges((self.low, self.high))


class TableSchema(Settings):
    """Rows of named columns.

    ``label`` is the column that holds the class, one of ``classes``; or, with ``target``, a number. Where several
    columns are predicted, ``labels`` lists them and ``label`` is what they are called together: each yes or no, or,
    with ``target``, a number.

    ``scaling`` says where the centre and width of a numeric column come from. By "range", from the ranges given here:
    a fixed formula, the same at every site, which learns nothing from a record. By "site", from the mean and deviation
    of the site's own training rows: no ranges are needed, but what is learnt so is outside the privacy accounting.

    Other columns have a role: ``site`` names the site of a row in a table of several, rows of one ``person`` stay on
    one side of a split, ``identifiers`` and ``ignored`` may stand in a file and are not read.
    """

    kind: Literal["table"] = "table"
    label: Name
    classes: tuple[Name, ...] = ()
    labels: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    target: Target | None = None
    features: Annotated[tuple[Annotated[Feature, Field(discriminator="kind")], ...], Field(min_length=1)]
    scaling: Literal["range", "site"] = "range"
    site: Name | None = None
    person: Name | None = None
    identifiers: tuple[Name, ...] | None = None
    ignored: tuple[Name, ...] | None = None

    @field_validator("classes")
    @classmethod
    def _distinct_classes(cls, classes: tuple[str, ...]) -> tuple[str, ...]:
        if len(classes) == 1:
            raise ValueError("there are at least 2 classes")
        return distinct(classes, "class")

    @field_validator("features", mode="before")
    @classmethod
    def _each_named(cls, features: object) -> object:
        """Read one by one, so that a mistake names the feature it is in."""
        return [read_feature(one) for one in features] if isinstance(features, Sequence) else features

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._require_one_kind()
        distinct(self.known, "column")
        bare = [f.name for f in self.features if isinstance(f, Measured) and f.range is None]
        if self.scaling == "range" and bare:
            raise BadInput(
                f'scaling = "range" needs the range of every numeric column; {bare[0]!r} has none. '
                'Give it low and high, or choose scaling = "site".'
            )
        return self

    def _require_one_kind(self) -> None:
        if not self.classes and self.target is None and self.labels is None:
            raise BadInput("'classes' is missing, and has no default.")
        if self.classes and not (self.target is None and self.labels is None):
            raise BadInput("a label has classes, or it is a number (target) or several columns (labels): give one.")
        if self.target is not None and self.target.scale is not None and len(self.label_columns) > 1:
            raise BadInput("target has one range, and there are several columns in labels: leave out low and high.")

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns that are predicted."""
        return self.labels or (self.label,)

    @property
    def label_names(self) -> tuple[str, ...]:
        """What a model answers about: classes, or columns."""
        return self.classes or self.label_columns

    @property
    def label_features(self) -> "tuple[Numeric | Boolean, ...]":
        """The columns that are predicted, where they hold no classes, as what they hold."""
        if self.classes:
            return ()
        if self.target is None:
            return tuple(Boolean(name=name) for name in self.label_columns)
        return tuple(Numeric(name=name, low=self.target.low, high=self.target.high) for name in self.label_columns)

    @property
    def label_is(self) -> Labels:
        if self.target is not None:
            return Labels("number", self.target.scale)
        return CLASSES if self.labels is None else Labels("yes-no")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def known(self) -> tuple[str, ...]:
        """Every column that a file may have."""
        roles = (one for one in (self.site, self.person) if one is not None)
        return (*self.names, *self.label_columns, *roles, *(self.identifiers or ()), *(self.ignored or ()))

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(feature.columns for feature in self.features),)

    @property
    def learns_from_rows(self) -> bool:
        return self.scaling == "site"


class ImageSchema(Settings):
    """Images in an .npz: X of bytes, [n, height, width] or with channels last, and y; or in a folder of PNG or DICOM
    files, whose label table has the columns named here (`data/folders/`)."""

    kind: Literal["images"] = "images"
    height: int = Field(ge=4, le=4096)
    width: int = Field(ge=4, le=4096)
    channels: Literal[1, 3] = 1
    classes: Names
    label: Name | None = None
    site: Name | None = None
    person: Name | None = None

    @field_validator("classes")
    @classmethod
    def _distinct_classes(cls, classes: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(classes, "class")

    @property
    def label_names(self) -> tuple[str, ...]:
        return self.classes

    @property
    def label_is(self) -> Labels:
        return CLASSES

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.channels, self.height, self.width)

    @property
    def learns_from_rows(self) -> bool:
        return False


Schema = TableSchema | ImageSchema


def read_schema(values: object) -> Schema:
    """A schema from the table of a TOML file; its ``kind`` says which."""
    if not isinstance(values, Mapping):
        raise BadInput("The schema is a table: kind, classes, and features or an image size.")
    kinds: dict[object, type[TableSchema] | type[ImageSchema]] = {"table": TableSchema, "images": ImageSchema}
    kind = values.get("kind", "table")
    if kind not in kinds:
        raise BadInput(f"schema: kind = {kind!r} is not possible: a schema is a table or images.")
    return kinds[kind].read(values, "schema")


def load_schema(path: Path) -> Schema:
    """From a `schema.toml`, or from a study file, which has it under ``data``."""
    values = read_toml(path)
    inside = values.get("data")
    try:
        return read_schema(inside if isinstance(inside, Mapping) else values)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def load_table_schema(path: Path) -> TableSchema:
    schema = load_schema(path)
    if not isinstance(schema, TableSchema):
        raise BadInput(f"{path} describes images, not a table.")
    return schema


def schema_text(schema: Schema) -> str:
    """As `load_schema` reads it."""
    return tomli_w.dumps(schema.model_dump(mode="json", exclude_none=True))
