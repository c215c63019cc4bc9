"""Membership inference against models that remember, and against models that cannot."""

from dataclasses import replace

import numpy as np
import torch

from secure_sapefl.audit.candidates import candidates_of, with_rows
from secure_sapefl.audit.membership import Membership, infer_membership
from secure_sapefl.audit.references import PERSONAL, Models, World
from secure_sapefl.data import Federation
from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.tasks.builtin import CLASSIFICATION
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer

MODEL = StackedModel((Linear(20, 64), Relu(), Linear(64, 2)), classes=2, widest=64)


def trained(federation: Federation, epochs: int, seed: int) -> Models:
    """Every site's model, all side by side."""
    parts = [client.train for client in federation.clients]
    x, y = (torch.from_numpy(np.concatenate([getattr(part, name) for part in parts])) for name in ("X", "y"))
    sizes = tuple(len(part) for part in parts)
    shard = Shard(x, y, tuple(int(s) for s in np.cumsum((0, *sizes))[:-1]), sizes)
    streams = [np.random.default_rng([seed, c]) for c in range(len(sizes))]
    plan = plan_batches(sizes, streams, epochs=epochs, batch_size=10)
    start = MODEL.initial(np.random.default_rng(seed)).repeat(len(sizes), 1)
    thetas = BatchedTrainer(MODEL).train(start, shard, plan, LocalLoss(), 0.1)
    return Models(PERSONAL, {client.name: theta for client, theta in zip(federation.clients, thetas, strict=True)})


def worlds(federation: Federation, epochs: int) -> list[World]:
    halves = [np.random.default_rng(9).permutation(120) % 2 == 0 for _ in federation.clients]
    found = []
    for side in (False, True):
        clients = tuple(with_rows(c, half ^ side) for c, half in zip(federation.clients, halves, strict=True))
        found.append(World({PERSONAL: trained(replace(federation, clients=clients), epochs, 5 + side)}))
    return found


def attacked(federation: Federation, epochs: int) -> Membership:
    rng = np.random.default_rng(0)
    models = trained(federation, epochs, seed=1)
    return infer_membership(
        models, candidates_of(federation, CLASSIFICATION, rng), MODEL, worlds(federation, epochs), rng
    )


def test_a_model_that_fits_coins_remembers_them(federation: Federation) -> None:
    found = attacked(federation, epochs=60)
    assert found.loss.auc.low > 0.8
    assert found.rmia is not None
    assert found.rmia.auc.low > 0.8
    assert (found.loss.members, found.loss.non_members) == (240, 240)


def test_a_model_that_never_saw_the_rows_does_not(federation: Federation) -> None:
    starts = [MODEL.initial(np.random.default_rng(c)) for c in range(4)]
    strangers = Models(PERSONAL, {client.name: theta for client, theta in zip(federation.clients, starts, strict=True)})
    rng = np.random.default_rng(0)
    found = infer_membership(strangers, candidates_of(federation, CLASSIFICATION, rng), MODEL, [], rng)
    assert found.rmia is None
    assert found.loss.auc.low <= 0.5
