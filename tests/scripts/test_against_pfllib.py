"""What is compared with PFLlib runs here, and PFLlib finds its rows."""

from pathlib import Path
from typing import Final

import against_pfllib
import numpy as np

RUN: Final = against_pfllib.Run(name="tiny", shape=(3,), preset="linear", sites=2, steps=1, rounds=2)


def test_a_run_takes_time_here() -> None:
    assert against_pfllib.ours(RUN, RUN.federation()) > 0


def test_rows_lie_where_the_other_looks_for_them() -> None:
    before, federation = Path.cwd(), RUN.federation()
    with against_pfllib.laid_out(federation):
        read = np.load("../dataset/random/train/1.npz", allow_pickle=True)["data"].item()
    np.testing.assert_array_equal(read["x"], federation.clients[1].train.X)
    np.testing.assert_array_equal(read["y"], federation.clients[1].train.y)
    assert Path.cwd() == before
