"""Rebuilt rows beside true ones, whatever the rows are."""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from secure_sapefl.audit.inversion import Rebuilt
from secure_sapefl.audit.picture import save_picture
from secure_sapefl.audit.rebuilding import Rebuilding


def rebuilding(shape: tuple[int, ...], rows: int) -> Rebuilding:
    random = torch.Generator().manual_seed(0)
    pairs = tuple(Rebuilt(*torch.randn((2, *shape), generator=random), 0.5) for _ in range(rows))
    return Rebuilding(what="rows", rows=pairs, errors=(0.5,) * rows, nearer_to_members=None, psnr=None)


@pytest.mark.parametrize("shape", [(7,), (1, 8, 8), (3, 8, 8)], ids=["table", "grey", "colour"])
def test_every_kind_of_row_is_drawn(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "plots" / "audit.png"
    save_picture([rebuilding(shape, 2)], path)
    assert len(np.unique(imread(path)[..., :3].reshape(-1, 3), axis=0)) > 10


def test_attempts_stand_below_each_other_and_rows_side_by_side(tmp_path: Path) -> None:
    sizes = []
    for found in ([rebuilding((7,), 1)], [rebuilding((7,), 3)], [rebuilding((7,), 1)] * 2):
        save_picture(found, tmp_path / "audit.png")
        sizes.append(imread(tmp_path / "audit.png").shape[:2])
    (high, wide), (_, wider), (higher, _) = sizes
    assert wider > wide
    assert higher == pytest.approx(2 * high, abs=1)
