"""A site's models on its held-out rows after a round, as a value and as lines of a file that never leaves the site.

Discrimination and calibration come from the task's metrics, as in a simulation. The ledger is told that a round was
judged, and the digest of what was found: an auditor sees that nothing was changed later, and learns no result.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secure_sapefl.metrics import CLASS_METRICS, Array, Metric
from secure_sapefl.site.evaluation.subgroups import Subgroup
from secure_sapefl.storage import json_lines

Measures = Mapping[str, float]
"""By the name of the metric; NaN where the rows do not define it."""


def measures(outputs: Array, y: Array, metrics: Sequence[Metric] = CLASS_METRICS) -> dict[str, float]:
    return {metric.name: metric.measure(outputs, y) for metric in metrics}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupJudged:
    """The site's own model on some of its test rows."""

    name: str
    rows: int
    own: Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """After one round: the model this site uses, and the common one where the method has one."""

    round_index: int
    rows: int  # held out
    own: Measures
    common: Measures | None
    groups: tuple[GroupJudged, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "round": self.round_index,
            "rows": self.rows,
            "own": _written(self.own),
            "common": None if self.common is None else _written(self.common),
            "groups": [{"name": one.name, "rows": one.rows, "own": _written(one.own)} for one in self.groups],
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "Judged":
        return cls(
            round_index=int(line["round"]),
            rows=int(line["rows"]),
            own=_read(line["own"]),
            common=None if line["common"] is None else _read(line["common"]),
            groups=tuple(
                GroupJudged(name=str(one["name"]), rows=int(one["rows"]), own=_read(one["own"]))
                for one in line["groups"]
            ),
        )

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def judge(
    round_index: int,
    y: Array,
    own: Array,
    common: Array | None,
    groups: tuple[Subgroup, ...] = (),
    metrics: Sequence[Metric] = CLASS_METRICS,
) -> Judged:
    """``own`` and ``common`` are the models' outputs on the held-out rows, whose labels are ``y``; ``metrics`` are the
    task's."""
    return Judged(
        round_index=round_index,
        rows=len(y),
        own=measures(own, y, metrics),
        common=None if common is None else measures(common, y, metrics),
        groups=tuple(
            GroupJudged(
                name=one.name, rows=int(one.member.sum()), own=measures(own[one.member], y[one.member], metrics)
            )
            for one in groups
        ),
    )


def add(path: Path, judged: Judged) -> None:
    """One line more, readable by the site alone."""
    path.touch(mode=0o600)
    json_lines.append(path, judged.to_json())


def read(path: Path) -> tuple[Judged, ...]:
    """Every round that was judged, in order; of a round that was judged again after a crash, the last line counts."""
    if not path.exists():
        return ()
    found = {judged.round_index: judged for judged in map(Judged.from_json, json_lines.read(path))}
    return tuple(found[index] for index in sorted(found))


def _written(values: Measures) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def _read(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: math.nan if value is None else float(value) for name, value in values.items()}
