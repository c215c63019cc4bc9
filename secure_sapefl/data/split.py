"""Training and test rows inside one site: 80/20, whole segments; stratified by class, or by coins where records must
stay private."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.coins import Coins
from secure_sapefl.data.streams import DataPurpose
from secure_sapefl.data.table import Table, Units

TEST_SHARE: Final = 0.2

Indices = NDArray[np.int64]


def split_rows(table: Table, units: Units, rows: Indices, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Divide a site's rows; a split that came with the data is used as given.

    Each class gives a fifth of its rows to the test side, as near as whole units allow; what rounding leaves over is
    carried to the next class, so the site as a whole is near a fifth too. A class with a single unit stays in
    training. A site made of such classes only gives one of them to the test side, for nothing is tested otherwise.
    """
    if table.split is not None:
        return rows[table.split[rows] == 0], rows[table.split[rows] == 1]
    held = np.unique(units.of_row[rows])
    tested = held_out_units(units, held, rng)
    on_test = np.isin(units.of_row[rows], tested)
    return rows[~on_test], rows[on_test]


def split_by_coins(table: Table, units: Units, rows: Indices, coins: Coins, site: int) -> tuple[Indices, Indices]:
    """Divide a site's rows in a private study: each of its units goes to the test side by a coin of its own.

    ``coins`` are those of the site's units, ascending. Neither side has a minimum: a count is about other records.
    """
    if table.split is not None:
        return rows[table.split[rows] == 0], rows[table.split[rows] == 1]
    held = np.unique(units.of_row[rows])
    tested = held[coins.thrown(DataPurpose.SPLIT, site) < TEST_SHARE]
    on_test = np.isin(units.of_row[rows], tested)
    return rows[~on_test], rows[on_test]


def held_out_units(units: Units, held: Indices, rng: np.random.Generator) -> Indices:
    """Of the units ``held``, those that make up about a fifth of the rows of each class; one at least."""
    chosen: list[Indices] = []
    carried = 0.0
    for label in rng.permutation(np.unique(units.label[held])):
        mine = rng.permutation(held[units.label[held] == label])
        taken = np.concatenate([[0], np.cumsum(units.size[mine])])
        wanted = TEST_SHARE * taken[-1] + carried
        count = int(np.argmin(np.abs(taken[:-1] - wanted)))  # [:-1]: one unit of the class stays in training
        carried = wanted - taken[count]
        chosen.append(mine[:count])
    tested = np.concatenate(chosen)
    return tested if len(tested) else _one_unit(units, held, rng)


def _one_unit(units: Units, held: Indices, rng: np.random.Generator) -> Indices:
    """A unit of the class with most units, so that the class is still trained on where that is possible."""
    commonest = np.argmax(np.bincount(units.label[held]))
    return rng.choice(held[units.label[held] == commonest], size=1)
