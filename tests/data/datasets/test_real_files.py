"""The real datasets: counts as their publishers state them. Skipped, by name, where a file is absent."""

import numpy as np
import pytest

from secure_sapefl.data import DATASETS, build_federation
from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.datasets.har_archive import segments
from secure_sapefl.data.store import stored_arrays

FILES = {
    "har": ("uci_har_inertial.npz", (168,), 6, 10_299),
    "accgyro": ("accgyro.npz", (112,), 2, 3_199),
    "cifar10": ("cifar10_18k.npz", (3, 32, 32), 10, 18_000),
    "cifar100": ("cifar100_12k.npz", (3, 32, 32), 100, 12_000),
    "mnist": ("mnist.npz", (1, 28, 28), 10, 70_000),
    "fmnist": ("fashion_mnist.npz", (1, 28, 28), 10, 70_000),
    "emnist": ("emnist_digits_test10k.npz", (1, 28, 28), 10, 10_000),
    "heart": ("heart_disease_4hospitals.npz", (13,), 2, 920),
    "pneumonia": ("pneumoniamnist.npz", (1, 28, 28), 2, 5_856),
    "blood": ("bloodmnist_7557.npz", (3, 28, 28), 8, 7_557),
}


@pytest.mark.parametrize("name", FILES)
def test_shape_classes_and_rows(real_data, name):
    file, shape, classes, rows = FILES[name]
    federation = build_federation(name, clients=None, partition=None, kappa=0.3, seed=0, data_dir=real_data(file))
    assert (federation.shape, federation.classes) == (shape, classes)
    assert federation.class_counts().sum() == rows
    assert federation.source.startswith(file)
    assert all(np.isfinite(client.train.X).all() and np.isfinite(client.test.X).all() for client in federation.clients)


def test_hospitals_have_their_patients_and_unrecorded_cholesterol_is_neutral(real_data):
    folder = real_data("heart_disease_4hospitals.npz")
    federation = build_federation("heart", clients=None, partition=None, kappa=0.3, seed=0, data_dir=folder)
    assert [client.name for client in federation.clients] == ["Cleveland", "Hungarian", "Switzerland", "VA_Long_Beach"]
    assert federation.class_counts()[:, 1].tolist() == [139, 106, 115, 149]
    cholesterol = 4
    switzerland, cleveland = federation.clients[2], federation.clients[0]
    assert (switzerland.train.X[:, cholesterol] == 0).all()
    assert cleveland.train.X[:, cholesterol].std() == pytest.approx(1.0, abs=1e-3)


def test_subjects_are_clients_and_segments_stay_on_one_side(real_data):
    folder = real_data("uci_har_inertial.npz")
    spec = DATASETS["har"]
    table = spec.origin.table(stored_arrays(spec, spec.origin, folder), {"features": "auto"})
    federation = build_federation("har", clients=None, partition=None, kappa=0.3, seed=0, data_dir=folder)
    assert len(federation.clients) == 30
    segment_of = {row.tobytes(): segment for row, segment in zip(table.X, table.segment, strict=True)}
    for client in federation.clients:
        sides = [{segment_of[row.tobytes()] for row in side.X} for side in (client.train, client.test)]
        assert not sides[0] & sides[1]


def test_segments_are_recomputed_from_the_windows(real_data):
    arrays = read_npz(real_data("uci_har_inertial.npz") / "uci_har_inertial.npz")
    np.testing.assert_array_equal(segments(arrays["X"], arrays["y"], arrays["subject"]), arrays["segment"])


def test_standing_windows_are_few(real_data):
    folder = real_data("accgyro.npz")
    spec = DATASETS["accgyro"]
    arrays = stored_arrays(spec, spec.origin, folder)
    counts = {w: np.bincount(spec.origin.table(arrays, {"window": w}).y).tolist() for w in (10, 20)}
    assert counts == {10: [57, 3142], 20: [32, 1567]}
