"""How checked records become a model's inputs, by the study's schema alone."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from secure_sapefl.data.prepare import Array, Floats, Prepare, PublicScale, pixels, standardise
from secure_sapefl.study.schema import Categorical, ImageSchema, Numeric, Schema, TableSchema


def preparation(schema: Schema) -> Prepare:
    """What turns checked records into a model's inputs; it may learn from the first of its arguments only."""
    return pixels if isinstance(schema, ImageSchema) else partial(_prepare, schema)


def _prepare(schema: TableSchema, train: Array, test: Array) -> tuple[Floats, Floats]:
    """First the numbers, then a column of 0 and 1 for each level of each category, both in the schema's order."""
    numeric = [isinstance(feature, Numeric) for feature in schema.features]
    numbers = _scale(schema)(train[:, numeric], test[:, numeric])
    first, second = (
        np.ascontiguousarray(np.concatenate((scaled, *_one_hot(schema, rows)), axis=1))
        for scaled, rows in zip(numbers, (train, test), strict=True)
    )
    return first, second


def _scale(schema: TableSchema) -> Prepare:
    if schema.scaling == "site":
        return standardise
    ranges = [feature.range for feature in schema.features if isinstance(feature, Numeric)]
    return PublicScale(tuple(one for one in ranges if one is not None))


def _one_hot(schema: TableSchema, rows: Array) -> Iterator[Floats]:
    """What is missing is no level."""
    for place, feature in enumerate(schema.features):
        if isinstance(feature, Categorical):
            yield (rows[:, place, None] == np.arange(len(feature.levels))).astype(np.float32)
