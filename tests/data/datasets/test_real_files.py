"""The real datasets: counts as their publishers state them. Skipped, by name, where a file is absent."""

import numpy as np
import pytest

from secure_sapefl.data import build_federation

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
