"""Mock records: they fit a study's schema and come from nothing else, so that a study can be tried without a patient.

Classes follow a random linear rule in the model's own inputs, the same at every site: a method that learns at all
learns it, and what it learns says nothing about anybody.
"""

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.prepare import Range
from secure_sapefl.data.tables.features import Boolean, Categorical, Date, Feature, Numeric
from secure_sapefl.data.tables.preparation import preparation
from secure_sapefl.data.tables.schema import ImageSchema, Schema, TableSchema
from secure_sapefl.errors import OutputFailed
from secure_sapefl.labels import Scale
from secure_sapefl.protocol.messages import SiteId

_MISSING_SHARE: Final = 0.1
_MOCK_DAYS: Final = 3650  # dates without a range lie within ten years
_MOCK_VISITS: Final = 2  # records of a person, where the schema knows persons
_REACH: Final = 1.7  # of numbers on a model's scale; within a public range
_RULE, _ROWS = 0, 1  # two independent streams of a seed


def write_mock(folder: Path, schema: Schema, sites: tuple[SiteId, ...], rows: int, seed: int) -> tuple[Path, ...]:
    """A file a site, `mock-SITE.csv` (or .npz for images)."""
    suffix = "npz" if isinstance(schema, ImageSchema) else "csv"
    paths = tuple(folder / f"mock-{site}.{suffix}" for site in sites)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place, path in enumerate(paths):
            path.write_bytes(mock_file(schema, rows, seed, place))
    except OSError as error:
        raise OutputFailed(f"Mock data cannot be written to {folder}: {error.strerror}.") from None
    return paths


def mock_file(schema: Schema, rows: int, seed: int, place: int) -> bytes:
    """The file of the site at this ``place`` of the roster."""
    rng = np.random.default_rng((seed, _ROWS, place))
    records = _images(schema, rows, rng) if isinstance(schema, ImageSchema) else _table(schema, rows, rng)
    labels = _labels(schema, records, np.random.default_rng((seed, _RULE)), rng)
    if isinstance(schema, ImageSchema):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, X=records, y=labels, class_names=np.array(schema.classes))
        return buffer.getvalue()
    return _csv(schema, records, _label_cells(schema, labels))


def _table(schema: TableSchema, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.stack([_column(feature, rows, rng) for feature in schema.features], axis=1)


def _column(feature: Feature, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    match feature:
        case Numeric(range=None):
            values = rng.normal(size=rows).round(3)
        case Numeric(range=Range(low, high)):
            values = rng.uniform(low, high, rows).round(3).clip(low, high)
        case Date():
            allowed = feature.range or Range(0, _MOCK_DAYS, 0)
            values = rng.integers(int(allowed.low), int(allowed.high) + 1, rows).astype(np.float64)
        case Categorical() | Boolean():
            values = rng.integers(len(feature.levels), size=rows).astype(np.float64)
    missing = feature.may_be_missing & (rng.random(rows) < _MISSING_SHARE)
    return np.where(missing, np.nan, values)


def _images(schema: ImageSchema, rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return rng.integers(256, size=(rows, schema.height, schema.width, schema.channels), dtype=np.uint8)


def _labels(
    schema: Schema, records: NDArray[np.generic], rule: np.random.Generator, rng: np.random.Generator
) -> NDArray[Any]:
    """Classes; or yes and no, or numbers within their range, a column a label."""
    inputs = preparation(schema)(records, records)[0].reshape(len(records), -1)
    weights = rule.normal(size=(inputs.shape[1], len(schema.label_names)))
    scores = inputs @ weights
    noise = rng.gumbel(size=scores.shape) * scores.std() / 4
    if schema.label_is.kind == "class":
        return np.asarray((scores + noise).argmax(1), dtype=np.int64)
    centred = (scores + noise - scores.mean(0)) / scores.std(0).clip(min=1e-9)
    if schema.label_is.kind == "yes-no":
        return np.asarray(centred > 0)
    scale = schema.label_is.scale or Scale((0.0,), (1.0,))
    return scale.to_units(centred.clip(-_REACH, _REACH))


def _label_cells(schema: TableSchema, labels: NDArray[Any]) -> list[list[str]]:
    if schema.classes:
        return [[schema.classes[k]] for k in labels]
    if schema.label_is.kind == "yes-no":
        return [["yes" if one else "no" for one in row] for row in labels]
    return [[f"{one:.6g}" for one in row] for row in labels]


def _csv(schema: TableSchema, records: NDArray[np.generic], labels: list[list[str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    person = [] if schema.person is None else [schema.person]
    writer.writerow([*schema.names, *schema.label_columns, *person])
    for number, (record, label) in enumerate(zip(records.tolist(), labels, strict=True)):
        cells = [_cell(feature, value) for feature, value in zip(schema.features, record, strict=True)]
        writer.writerow([*cells, *label, *(str(number // _MOCK_VISITS) for _ in person)])
    return text.getvalue().encode()


def _cell(feature: Feature, value: float) -> str:
    if np.isnan(value):
        return ""
    match feature:
        case Numeric():
            return f"{value:g}"
        case Date():
            return (feature.reference + timedelta(days=value)).strftime(feature.format)
        case _:
            return feature.levels[int(value)]
