"""A federation small enough to follow by hand: two sites, a few rows, a model of 23 weights, both trainers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.config import Config
from secure_sapefl.conformance.sites import FourSites
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer, Trainer

MODEL = StackedModel((Linear(2, 3), Relu(), Linear(3, 3), Relu(), Linear(3, 2)), classes=2, widest=3)
SIZES = (7, 4)


@pytest.fixture(params=[BatchedTrainer, SequentialTrainer], ids=["batched", "sequential"])
def trainer(request: pytest.FixtureRequest) -> Trainer:
    made: Trainer = request.param(MODEL)
    return made


@pytest.fixture
def theta_initial() -> Tensor:
    return MODEL.initial(np.random.default_rng(5))


@pytest.fixture
def make_group(trainer: Trainer, theta_initial: Tensor) -> Callable[..., SiteGroup]:
    """``make_group(state=..., lr=...)``: any field can be given, the rest is fixed."""
    rng = np.random.default_rng(3)
    x = torch.from_numpy(rng.normal(size=(sum(SIZES), 2)).astype(np.float32))
    shard = Shard(x, (x[:, 0] > 0).long(), (0, SIZES[0]), SIZES)

    def streams(purpose: Purpose) -> list[np.random.Generator]:
        return [stream(0, purpose, site=c) for c in range(len(SIZES))]

    def make(**changes: Any) -> SiteGroup:
        state: Mapping[str, Tensor] = {"theta_personal": theta_initial.repeat(len(SIZES), 1)}
        fields: dict[str, Any] = {
            "theta_global": theta_initial,
            "theta_initial": theta_initial,
            "state": state,
            "peers": Peers.nobody(len(SIZES), theta_initial),
            "shard": shard,
            "trainer": trainer,
            "streams": streams,
            "local_epochs": 2,
            "batch_size": 3,
            "lr": 0.1,
        }
        return SiteGroup(**(fields | changes))

    return make


@pytest.fixture
def tiny_study() -> Callable[..., Simulation]:
    """``tiny_study("ditto", protection="ckks")``: four sites, two rounds, a real study otherwise."""

    def make(method: str, **changes: Any) -> Simulation:
        fields: dict[str, Any] = {
            "clients": 4,
            "rounds": 2,
            "local_epochs": 1,
            "participation": 1.0,
            "workers": 0,
            "protection": "plaintext",
            "data_options": {"rows": 240, "flip_y": 0.0, "classes": 4},
        }
        return Simulation(assemble(Config(method=method, **(fields | changes))))

    return make


@pytest.fixture
def assert_twins(tiny_study: Callable[..., Simulation]) -> Callable[..., None]:
    """An encrypted study and the same in plaintext leave the same models at every site."""

    def check(method: str, **changes: Any) -> None:
        encrypted, plain = (tiny_study(method, protection=name, **changes) for name in ("ckks", "plaintext"))
        results = encrypted.run(), plain.run()
        torch.testing.assert_close(encrypted.tensors(), plain.tensors(), atol=2e-4, rtol=0, equal_nan=True)
        assert results[0].accuracy.mean == pytest.approx(results[1].accuracy.mean, abs=0.05)
        assert not any(result.rounds[-1].refusals for result in results)

    return check


@pytest.fixture
def four_sites() -> FourSites:
    return FourSites()
