"""How checked records become a model's inputs, by the study's schema alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secure_sapefl.data.prepare import Array, Floats, Prepare, PublicScale, Recipe, pixels, recipe_of, standardise
from secure_sapefl.study.schema import Categorical, ImageSchema, Numeric, Schema, TableSchema


def preparation(schema: Schema) -> Prepare:
    """What turns checked records into a model's inputs; it may learn from the first of its arguments only."""
    return pixels if isinstance(schema, ImageSchema) else TablePreparation(schema)


@dataclass(frozen=True, slots=True)
class TablePreparation:
    """First the numbers, then a column of 0 and 1 for each level of each category, both in the schema's order."""

    schema: TableSchema

    def __call__(self, train: Array, test: Array) -> tuple[Floats, Floats]:
        numbers = self._scale()(train[:, self._numeric], test[:, self._numeric])
        first, second = (
            np.ascontiguousarray(np.concatenate((scaled, *_one_hot(self.schema, rows)), axis=1))
            for scaled, rows in zip(numbers, (train, test), strict=True)
        )
        return first, second

    def recipe(self, train: Array) -> Recipe:
        """As `data.recipe` has it, of the columns a hospital's file has."""
        features = self.schema.features
        return {
            "kind": "table",
            "formula": "concatenate(numbers by their formula, (column == level) for each level of each category)",
            "numbers": {
                "columns": [feature.name for feature in features if isinstance(feature, Numeric)],
                **recipe_of(self._scale(), train[:, self._numeric]),
            },
            "categories": {f.name: list(f.levels) for f in features if isinstance(f, Categorical)},
        }

    @property
    def _numeric(self) -> list[bool]:
        return [isinstance(feature, Numeric) for feature in self.schema.features]

    def _scale(self) -> Prepare:
        if self.schema.scaling == "site":
            return standardise
        ranges = [feature.range for feature in self.schema.features if isinstance(feature, Numeric)]
        return PublicScale(tuple(one for one in ranges if one is not None))


def _one_hot(schema: TableSchema, rows: Array) -> Iterator[Floats]:
    """What is missing is no level."""
    for place, feature in enumerate(schema.features):
        if isinstance(feature, Categorical):
            yield (rows[:, place, None] == np.arange(len(feature.levels))).astype(np.float32)
