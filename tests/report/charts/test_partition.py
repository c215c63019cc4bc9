"""Who holds what, as a picture: every client's classes and rows."""

import numpy as np
import pytest

from secure_sapefl.data import ClientData, Federation
from secure_sapefl.data.federation import Rows
from secure_sapefl.errors import OutputFailed
from secure_sapefl.report.charts.partition import draw_partition


def federation(clients):
    rng = np.random.default_rng(0)

    def rows(count):
        return Rows(np.zeros((count, 2), dtype=np.float32), rng.integers(0, 2, count))

    members = tuple(ClientData(name=f"site{c}", train=rows(8), test=rows(2)) for c in range(clients))
    return Federation(
        dataset="d", shape=(2,), class_names=("no", "yes"), clients=members, source="made up", partition="iid"
    )


@pytest.mark.parametrize("clients", [1, 3, 200])
def test_few_and_many_clients_are_drawn(tmp_path, clients):
    path = tmp_path / "partition.png"
    draw_partition(federation(clients), path, title="who holds what")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(OutputFailed, match=r"partition\.png"):
        draw_partition(federation(2), tmp_path / "nowhere" / "partition.png", title="t")
