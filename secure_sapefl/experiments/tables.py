"""Results as text: sheets of cells, and a document of sheets as Markdown, CSV and JSON. Pure."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.report.shown import Shown

NOTHING = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An experiment's outcome: for people (``setting``, ``sheets``, ``notes``) and for programs (``records``)."""

    name: str
    title: str
    setting: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]  # one flat row each, all with the same keys
    extra: Mapping[str, Any]  # what only the JSON file holds

    def to_markdown(self) -> str:
        parts = [f"# {self.title}", _bullets(self.setting)]
        parts += [f"## {sheet.title}\n\n{markdown_table(sheet.header, sheet.rows)}" for sheet in self.sheets]
        parts.append(_bullets(self.notes))
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_csv(self) -> str:
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records)
        return out.getvalue()

    def to_json(self) -> dict[str, Any]:
        document = {
            "experiment": self.name,
            "setting": list(self.setting),
            "records": [dict(record) for record in self.records],
            "notes": list(self.notes),
            **self.extra,
        }
        plain: dict[str, Any] = json.loads(json.dumps(document))
        return plain


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def percent(estimate: Estimate | None) -> str:
    """90.83 ± 0.49, without the second part where there is one seed."""
    if estimate is None or math.isnan(estimate.mean):
        return NOTHING
    spread = "" if estimate.std is None else f" ± {100 * estimate.std:.2f}"
    return f"{100 * estimate.mean:.2f}{spread}"


def amount(estimate: Estimate | None, shown: Shown) -> str:
    """As percent where the metric lies between 0 and 1 by nature, and as it is otherwise."""
    if is_share(shown):
        return percent(estimate)
    if estimate is None or math.isnan(estimate.mean):
        return NOTHING
    return f"{estimate.mean:.4g}" + ("" if estimate.std is None else f" ± {estimate.std:.2g}")


def is_share(shown: Shown) -> bool:
    return shown.name in ("accuracy", "auc")


def with_unit(shown: Shown) -> str:
    """The title of a column of such numbers."""
    return f"{shown.title}, %" if is_share(shown) else f"{shown.title}{shown.direction}"


def points(difference: float) -> str:
    """A difference of two percentages, with its sign."""
    return NOTHING if math.isnan(difference) else f"{100 * difference:+.2f}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None) -> float | None:
    """For JSON and CSV, which have no NaN."""
    return None if value is None or math.isnan(value) else round(value, 6)


def moments(prefix: str, estimate: Estimate | None) -> dict[str, float | None]:
    """An estimate as two fields of a record."""
    mean, std = (None, None) if estimate is None else (estimate.mean, estimate.std)
    return {f"{prefix}mean": number(mean), f"{prefix}std": number(std)}


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
