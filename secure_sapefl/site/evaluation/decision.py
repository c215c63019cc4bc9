"""A yes or no for new records: the threshold chosen on this site's training rows, and what it does on its test rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.federation import ClientData
from secure_sapefl.data.prepare import Floats
from secure_sapefl.decisions import DecisionCurve, Goal, Operating, decision_curve, operating, threshold_for
from secure_sapefl.errors import BadInput, UnknownName

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """``goal`` is None where only the decision curve is wanted; ``positive`` None where two classes leave no doubt."""

    goal: Goal | None = None
    positive: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    positive: int  # of the study's classes
    name: str  # of that class
    goal: Goal | None
    threshold: float | None
    train: Operating | None
    test: Operating | None
    curve: DecisionCurve | None  # on test rows; None where there are none

    def applied(self, probabilities: Probabilities) -> NDArray[np.int64]:
        """The class of each row: the positive one at or above the threshold, else the likeliest of the others."""
        if self.threshold is None:
            return np.asarray(probabilities.argmax(1))
        others = probabilities.copy()
        others[:, self.positive] = -np.inf
        return np.asarray(np.where(probabilities[:, self.positive] >= self.threshold, self.positive, others.argmax(1)))

    def to_json(self) -> dict[str, Any]:
        return {
            "positive": self.name,
            "goal": None if self.goal is None else {self.goal.kind: self.goal.share},
            "threshold": self.threshold,
            "training_rows": None if self.train is None else self.train.to_json(),
            "test_rows": None if self.test is None else self.test.to_json(),
        }

    def sentence(self) -> str | None:
        """For the person at the terminal."""
        if self.goal is None or self.train is None or self.test is None:
            return None
        found = ", ".join(
            f"{kind} {100 * one.value:.0f} % ({100 * one.low:.0f} to {100 * one.high:.0f})"
            if one.value == one.value
            else f"no rows to tell the {kind} by"
            for kind, one in (("sensitivity", self.test.sensitivity), ("specificity", self.test.specificity))
        )
        return (
            f"{self.name!r} from probability {self.threshold:.4f} on, chosen on {self.train.rows} training rows for a "
            f"{self.goal.kind} of {self.goal.share:g}. On {self.test.rows} test rows: {found}."
        )


def decide(
    asked: Asked, classes: Sequence[str], probabilities: Callable[[Floats], Probabilities], rows: ClientData
) -> Decision:
    """``probabilities`` is the site's own model."""
    place = positive_class(asked.positive, classes)
    train, test = probabilities(rows.train.X)[:, place], probabilities(rows.test.X)[:, place]
    is_train, is_test = rows.train.y == place, rows.test.y == place
    threshold = None if asked.goal is None else threshold_for(asked.goal, train, is_train)
    return Decision(
        positive=place,
        name=classes[place],
        goal=asked.goal,
        threshold=threshold,
        train=None if threshold is None else operating(threshold, train, is_train),
        test=None if threshold is None else operating(threshold, test, is_test),
        curve=decision_curve(test, is_test) if len(is_test) else None,
    )


def positive_class(named: str | None, classes: Sequence[str]) -> int:
    """Of two classes the second, as studies write them: no, yes."""
    if named is not None:
        if named not in classes:
            raise UnknownName("class of the study", named, classes)
        return classes.index(named)
    if len(classes) != 2:
        raise BadInput(f"Which class is meant? Name it with --positive: {', '.join(classes)}.")
    return 1
