"""What inversion gives on a whole update and on one row alone, with and without noise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl import Config
from secure_sapefl.audit.inversion import Attack, Known, Rebuilt
from secure_sapefl.audit.parties import Update
from secure_sapefl.audit.rebuilding import REBUILT, Rebuilding, rebuild_alone, rebuild_from_update
from secure_sapefl.data import ClientData, Rows
from secure_sapefl.tasks.builtin import CLASSIFICATION

QUICK = Attack(steps=5, starts=1, images=2)
CONFIG = Config(batch_size=10, lr=0.1)


def client(made: Any) -> ClientData:
    x, y = made.x.numpy(), made.y.numpy()
    return ClientData(name="north", train=Rows(x[:6], y[:6]), test=Rows(x[6:], y[6:]))


def known(made: Any) -> Known:
    return Known(made.model, CLASSIFICATION, made.x, made.y)


@pytest.mark.parametrize(("noise", "works"), [(None, True), (50.0, False)])
def test_one_row_alone_comes_back_unless_the_step_was_noised(
    records: Callable[..., Any], noise: float | None, works: bool
) -> None:
    made = records("mlp", rows=12)
    found = rebuild_alone(client(made), made.model, known(made), made.theta, CONFIG, noise, QUICK, seed=0)
    assert len(found.errors) == 4
    assert (min(found.errors) < REBUILT) == works
    assert (found.nearer_to_members, found.psnr) == (None, None)


def test_an_update_is_held_against_rows_that_were_never_used(records: Callable[..., Any]) -> None:
    made = records("mlp", rows=12)
    step = -0.1 * made.gradients()[0]  # of one member alone
    update = Update(2, made.theta, made.theta + step)
    found = rebuild_from_update(update, client(made), known(made), QUICK, seed=0)
    assert found.what == "the update of north, 6 rows, round 3"
    assert min(found.errors) < REBUILT
    assert 0.0 < found.nearer_to_members <= 1.0
    assert found.errors == tuple(sorted(found.errors))


def test_images_have_decibels(records: Callable[..., Any]) -> None:
    made = records("cnn", rows=2)
    one = ClientData(name="a", train=Rows(made.x.numpy()[:1], made.y.numpy()[:1]), test=Rows(made.x.numpy(), made.y))
    found = rebuild_alone(one, made.model, known(made), made.theta, CONFIG, None, QUICK, seed=0)
    squared = float((found.rows[0].rebuilt - found.rows[0].true).square().mean())
    span = float(made.x.max() - made.x.min())
    assert found.psnr == (pytest.approx(10 * np.log10(span**2 / squared)),)


def test_the_document_by_hand() -> None:
    row = Rebuilt(torch.zeros(2), torch.zeros(2), 0.2)
    found = Rebuilding(what="w", rows=(row,), errors=(0.2, 0.5, 0.6), nearer_to_members=0.5, psnr=(10.0, 30.0))
    assert found.to_json() == {
        "what": "w",
        "rebuilt": 3,
        "share_rebuilt": pytest.approx(1 / 3),
        "error_best": 0.2,
        "error_median": 0.5,
        "psnr_best": 30.0,
        "psnr_median": 20.0,
        "nearer_to_members": 0.5,
    }
    assert REBUILT > 0.2
