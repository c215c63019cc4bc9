"""What a run is judged by, as pages show it: which metric, in which form, and which way is better.

A run says so itself (`summary.json`), tasks of one's own included; runs of release 0.1 were judged by accuracy and AUC.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.metrics import NOBODY, Metric, Spread
from secure_sapefl.report import formats


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    name: str
    title: str
    higher_is_better: bool = True
    percent: bool = False

    @classmethod
    def from_metric(cls, metric: Metric) -> "Shown":
        return cls(
            name=metric.name, title=metric.title, higher_is_better=metric.higher_is_better, percent=metric.percent
        )

    @property
    def heading(self) -> str:
        """At the beginning of a line."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def direction(self) -> str:
        return "" if self.higher_is_better else ", lower is better"

    @property
    def unit_of_gain(self) -> str:
        return "points" if self.percent else self.title

    def form(self, value: float | None) -> str:
        return formats.percent(value) if self.percent else formats.decimal(value)

    def tick(self, value: float) -> str:
        """On an axis."""
        return f"{100 * value:.0f} %" if self.percent else f"{value:.3g}"

    def gain_form(self, value: float | None) -> str:
        """A difference with its sign: above 0 is better, whichever way the metric goes."""
        return formats.points(value) if self.percent else formats.signed(value)

    def gain(self, own: float, other: float) -> float:
        return own - other if self.higher_is_better else other - own

    def oriented(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """Values of which higher is better."""
        return values if self.higher_is_better else tuple(-value for value in values)

    def own(self, record: RoundRecord) -> Spread:
        return record.personal.metrics.get(self.name, NOBODY)

    def everywhere(self, record: RoundRecord) -> Spread:
        return record.everywhere.metrics.get(self.name, NOBODY)


def directions(shown: Iterable[Shown]) -> dict[str, dict[str, object]]:
    """By name, for programs that read a document: what a metric is called, and which way is better."""
    return {one.name: {"title": one.title, "higher_is_better": one.higher_is_better} for one in shown}


ACCURACY: Final = Shown(name="accuracy", title="accuracy", percent=True)
AUC: Final = Shown(name="auc", title="AUC")


def shown_of(summary: Mapping[str, Any]) -> tuple[Shown, ...]:
    """The main metric, and the second where there is one."""
    if "main_metric" not in summary:
        return ACCURACY, AUC
    first_two = list(summary["metrics"].items())[:2]
    return tuple(
        Shown(
            name=name,
            title=facts["title"],
            higher_is_better=facts["higher_is_better"],
            percent=facts["percent"],
        )
        for name, facts in first_two
    )
