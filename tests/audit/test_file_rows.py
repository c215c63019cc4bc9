"""What one row of the file decides: counted record by record, on the whole way to the training sets."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl import Config
from secure_sapefl.audit.file_rows import Moved, plant_in_file, rows_moved, training_records_changed
from secure_sapefl.data import Federation, Rows
from secure_sapefl.engine.assembly import federation_of

PRIVATE = {"dp_epsilon": 1.0, "dp_delta": 1e-5}


def test_records_are_counted_site_by_site_as_multisets(federation: Federation) -> None:
    first, *others = federation.clients
    swapped = replace(first, train=Rows(first.train.X[::-1], first.train.y[::-1]))
    less = replace(first, train=Rows(first.train.X[1:], first.train.y[1:]))
    twice = Rows(np.concatenate([first.train.X, first.train.X[:1]]), np.concatenate([first.train.y, first.train.y[:1]]))
    for changed, count in ((first, 0), (swapped, 0), (less, 1), (replace(first, train=twice), 1)):
        after = replace(federation, clients=(changed, *others))
        assert training_records_changed(federation, after) == count
    moved = replace(federation, clients=(others[0], first, *others[1:]))
    assert training_records_changed(federation, moved) == 4 * 60


def test_in_a_private_run_one_row_moves_one_record_at_most(small: Callable[..., Config]) -> None:
    config = small(**PRIVATE)
    found = rows_moved(config, federation_of(config), 4, np.random.default_rng(0))
    assert found.rows == 4
    assert found.most <= 1
    assert Moved(4, 1).to_json() == {"rows_removed": 4, "most_training_records_changed": 1}


def test_canaries_are_told_from_the_file_s_own_rows_with_their_coins(small: Callable[..., Config]) -> None:
    config = small(**PRIVATE)
    before = federation_of(config)
    planted, found = plant_in_file(config, before, 20, np.random.default_rng(0))
    included = sum(int(own.included.sum()) for own in found.values())
    assert 0 < included < sum(len(own.y) for own in found.values())
    assert training_records_changed(before, planted) == included
    own = {row.tobytes() for client in before.clients for side in (client.train, client.test) for row in side.X}
    assert not any(row.numpy().tobytes() in own for canaries in found.values() for row in canaries.x)
    assert included == pytest.approx(10, abs=7)
