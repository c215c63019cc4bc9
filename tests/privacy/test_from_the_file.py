"""The epsilon told to owners, held against the file: two files that differ in one row, and the whole way from there.

The files are made against a split that is a permutation over all rows. Whoever knows the seed knows which rows change
sides when one row is gone; here these rows all pull one way. A private study must not let them: with its own split
nobody tells the two files apart better than the ledger says, and with the stratified one a threshold does.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.audit.mechanisms import distinguished
from secure_sapefl.config import Config, PublicFacts
from secure_sapefl.data import Federation, Rows, build
from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.split import split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.events import AggregateOpened, RunEvent
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import build_model
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.privacy.per_record import clipped_sum
from secure_sapefl.training.objective import Batch, LocalLoss
from tests.data.neighbours import changed, stratified

RECORDS, GONE, FEATURES, TRIALS = 120, 3, 5, 160
EPSILON, DELTA = 1.0, 1e-5
LABELS = (np.arange(RECORDS) % 12 == 0).astype(np.int64)


def trained_on(without: int | None) -> set[int]:
    """Rows that the stratified split would train on, by their numbers in the whole file."""
    kept = np.delete(np.arange(RECORDS), [] if without is None else without)
    table = Table(X=kept[:, None], y=LABELS[kept], class_names=("0", "1"), source="", prepare=as_given)
    train, _ = split_rows(table, Units.from_table(table), np.arange(len(kept)), stream(0, DataPurpose.SPLIT, 0))
    return set(kept[train].tolist())


def records() -> NDArray[np.float64]:
    X = np.random.default_rng(1).normal(size=(RECORDS, FEATURES)) * 0.05
    before, after = trained_on(None), trained_on(GONE)
    for rows, side in ((before - after, 1), (after - before, -1)):
        for row in rows:
            X[row] += side * (1 if LABELS[row] else -1) * 5.0
    return X


def write(folder: Path, without: int | None) -> Path:
    kept = np.arange(RECORDS) != without
    np.savez(folder / "mine.npz", X=records()[kept], y=LABELS[kept])
    return folder / "mine.npz"


def config(file: Path, public: PublicFacts | None, seed: int) -> Config:
    return Config(
        dataset=str(file),
        data_options={"standardise": "none"},
        method="fedavg",
        partition="iid",
        clients=1,
        rounds=1,
        participation=1.0,
        local_epochs=1,
        lr=0.01,
        protection="plaintext",
        device="cpu",
        dp_epsilon=EPSILON,
        dp_delta=DELTA,
        dp_public=public,
        seed=seed,
    )


def told_apart(folder: Path) -> float:
    """The least epsilon that what one site sends can have, seen by whoever knows both files but not which it was."""
    file = write(folder, None)
    whole = federation_of(config(file, None, 0))
    less = federation_of(config(write(folder, GONE), whole.public, 0))
    sides = [whole.clients[0].train, less.clients[0].train]
    assert changed(whole.clients, less.clients) >= 1
    model = build_model(whole.shape, whole.classes, "small")
    seen = [
        np.array([moved(config(file, whole.public, seed), federation, model, sides) for seed in seeds])
        for federation, seeds in ((less, range(1000, 1000 + TRIALS)), (whole, range(5000, 5000 + TRIALS)))
    ]
    return distinguished(seen[0], seen[1], DELTA)


def moved(config: Config, federation: Federation, model: Model, sides: list[Rows]) -> float:
    """How far one round went where the two training sets' clipped gradients differ. Each seed draws its own noise."""
    assembly, opened = assemble(config, federation), []

    def watch(event: RunEvent) -> None:
        if isinstance(event, AggregateOpened):
            opened.append(event.theta_global)

    Simulation(assembly).run(observers=[watch])
    start, (end,) = assembly.sites.theta_initial, opened
    first, second = (pull(model, start, rows) for rows in sides)
    return float((start - end) @ (second - first) / (second - first).norm())


def pull(model: Model, theta: Tensor, rows: Rows) -> Tensor:
    count = len(rows)
    x, y = torch.from_numpy(rows.X)[None], torch.from_numpy(rows.y)[None]
    batch = Batch(x, y, torch.arange(count)[None], torch.ones((1, count)))
    return torch.cat([part.flatten() for part in clipped_sum(model, model.views(theta[None]), batch, LocalLoss(), 1.0)])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


@pytest.mark.slow
def test_two_files_that_differ_in_a_row_are_told_apart_no_better_than_the_ledger_says(tmp_path: Path) -> None:
    assert told_apart(tmp_path) <= EPSILON


@pytest.mark.slow
def test_with_the_stratified_split_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "split_by_coins", stratified)
    assert told_apart(tmp_path) > 2 * EPSILON


def test_the_files_are_made_against_the_stratified_split() -> None:
    assert len(trained_on(None) ^ trained_on(GONE)) > 20
