"""How checked records become a model's inputs, by the schema alone."""

from collections.abc import Mapping, Sequence

from secure_sapefl.data.prepare import MixedColumns, Prepare, PublicScale, pixels, standardise
from secure_sapefl.data.tables.features import Feature, Measured
from secure_sapefl.data.tables.schema import ImageSchema, Schema, TableSchema


def preparation(schema: Schema) -> Prepare:
    """What turns checked records into a model's inputs; it may learn from the first of its arguments only."""
    return pixels if isinstance(schema, ImageSchema) else mixed(schema.features, scale_of(schema))


def mixed(
    features: Sequence[Feature], scale: Prepare, vocabulary: Mapping[str, tuple[str, ...]] | None = None
) -> MixedColumns:
    """First the numbers, by ``scale``, then a column for each level of each category, both in the schema's order."""
    columns = tuple((one.name, () if isinstance(one, Measured) else one.levels) for one in features)
    return MixedColumns(columns, scale, vocabulary)


def scale_of(schema: TableSchema) -> Prepare:
    if schema.scaling == "site":
        return standardise
    ranges = [feature.range for feature in schema.features if isinstance(feature, Measured)]
    return PublicScale(tuple(one for one in ranges if one is not None))
