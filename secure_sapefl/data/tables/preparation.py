"""How checked records become a model's inputs, by the schema alone."""

from secure_sapefl.data.prepare import MixedColumns, Prepare, PublicScale, pixels, standardise
from secure_sapefl.data.tables.schema import ImageSchema, Measured, Schema, TableSchema


def preparation(schema: Schema) -> Prepare:
    """What turns checked records into a model's inputs; it may learn from the first of its arguments only."""
    return pixels if isinstance(schema, ImageSchema) else mixed(schema, scale_of(schema))


def mixed(schema: TableSchema, scale: Prepare) -> MixedColumns:
    """First the numbers, by ``scale``, then a column for each level of each category, both in the schema's order."""
    return MixedColumns(
        tuple((one.name, () if isinstance(one, Measured) else one.levels) for one in schema.features), scale
    )


def scale_of(schema: TableSchema) -> Prepare:
    if schema.scaling == "site":
        return standardise
    ranges = [feature.range for feature in schema.features if isinstance(feature, Measured)]
    return PublicScale(tuple(one for one in ranges if one is not None))
