"""How a site sees the world: what it calls the classes, and which way up its images are."""

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Array
from secure_sapefl.data.prepare import Recipe
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Applied to all rows of a site, training and test alike."""

    labels: NDArray[np.int64] | None = None  # what the table calls k is labels[k] here; None: the same
    quarter_turns: int = 0  # of images, counter-clockwise

    def of_labels(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        return y if self.labels is None else self.labels[y]

    def of_features(self, X: Array) -> Array:
        return np.ascontiguousarray(np.rot90(X, self.quarter_turns, axes=(1, 2))) if self.quarter_turns else X

    def recipe(self) -> Recipe:
        """Only what differs from the table's own way of seeing things: to be done first, and to its labels."""
        turned = {"first": f"rot90(x, {self.quarter_turns}, axes=(1, 2))"} if self.quarter_turns else {}
        return turned if self.labels is None else {**turned, "labels": self.labels.tolist()}


def differing_views(table: Table, count: int, rng: np.random.Generator) -> tuple[View, ...]:
    """Views of which no two call the classes alike; images are turned too, by half a turn where they are not square."""
    if table.labels.kind != "class":
        raise BadInput(f"{table.source}: clusters differ in what they call the classes, and these labels are none.")
    classes = len(table.class_names)
    if count > factorial(min(classes, 20)):
        raise BadInput(
            f"{table.source}: {count} clusters need as many ways to name the classes; {classes} classes have "
            f"{factorial(classes)}. Ask for fewer --clusters."
        )
    orders: dict[tuple[int, ...], NDArray[np.int64]] = {}
    while len(orders) < count:
        order = rng.permutation(classes)
        orders.setdefault(tuple(order.tolist()), order)
    return tuple(View(labels=order, quarter_turns=_turns(table, k)) for k, order in enumerate(orders.values()))


def _turns(table: Table, cluster: int) -> int:
    if table.X.ndim < 3:
        return 0
    square = table.X.shape[1] == table.X.shape[2]
    return cluster % 4 if square else 2 * (cluster % 2)
