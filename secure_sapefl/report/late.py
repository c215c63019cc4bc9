"""Sites that joined after training, as the page shows them: what a round gave them, and what they had without it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.plain_text import printable
from secure_sapefl.report.run import Run

_BESIDE: Final = {
    "local_only": "Alone, as many epochs",
    "global_model": "Global model",
    "global_fine_tuned": "Global model, as many epochs",
}


@dataclass(frozen=True, slots=True)
class LateSite:
    name: str
    rows: int
    main: float | None
    second: float | None
    beside: tuple[float | None, ...]  # by the main metric, in the order of the columns


@dataclass(frozen=True, slots=True, kw_only=True)
class LateView:
    columns: tuple[str, ...]
    sites: tuple[LateSite, ...]
    mean: LateSite
    epochs: int
    refused: tuple[tuple[str, str], ...]


def late_of(run: Run) -> LateView | None:
    """None where everybody was there from the start."""
    block: Mapping[str, Any] | None = run.summary.get("late_clients")
    if not block:
        return None
    main, second = run.main.name, None if run.second is None else run.second.name
    beside = [_metrics(block[key])[main] for key in _BESIDE if block[key]]
    own = _metrics(block)
    other = None if second is None else own[second]
    return LateView(
        columns=tuple(label for key, label in _BESIDE.items() if block[key]),
        sites=tuple(
            LateSite(
                printable(name),
                block["rows"][c],
                own[main]["per_client"][c],
                None if other is None else other["per_client"][c],
                tuple(scores["per_client"][c] for scores in beside),
            )
            for c, name in enumerate(block["names"])
        ),
        mean=LateSite(
            "Mean",
            sum(block["rows"]),
            own[main]["mean"],
            None if other is None else other["mean"],
            tuple(scores["mean"] for scores in beside),
        ),
        epochs=block["epochs"],
        refused=tuple((printable(one["site"]), printable(one["reason"])) for one in block["refused"]),
    )


def _metrics(scores: Mapping[str, Any]) -> Mapping[str, Any]:
    """By name; release 0.1 had accuracy and AUC alone."""
    found: Mapping[str, Any] = scores.get("metrics", scores)
    return found
