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
    accuracy: float | None
    auc: float | None
    beside: tuple[float | None, ...]  # accuracies, in the order of the columns


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
    beside = [block[key] for key in _BESIDE if block[key]]
    return LateView(
        columns=tuple(label for key, label in _BESIDE.items() if block[key]),
        sites=tuple(
            LateSite(
                printable(name),
                block["rows"][c],
                block["accuracy"]["per_client"][c],
                block["auc"]["per_client"][c],
                tuple(scores["accuracy"]["per_client"][c] for scores in beside),
            )
            for c, name in enumerate(block["names"])
        ),
        mean=LateSite(
            "Mean",
            sum(block["rows"]),
            block["accuracy"]["mean"],
            block["auc"]["mean"],
            tuple(scores["accuracy"]["mean"] for scores in beside),
        ),
        epochs=block["epochs"],
        refused=tuple((printable(one["site"]), printable(one["reason"])) for one in block["refused"]),
    )
