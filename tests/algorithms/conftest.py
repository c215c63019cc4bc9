"""A federation small enough to follow by hand: two sites, a few rows, a model of 23 weights, both trainers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.config import Config
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


class FourSites:
    """Four sites, the last with a single row, and five models going round; site g is the owner of model g."""

    model = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
    sizes = (9, 5, 5, 1)
    starts = (0, 9, 14, 19)

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(11)
        self.x = torch.randn((sum(self.sizes), 4), generator=random)
        self.y = torch.randint(3, (sum(self.sizes),), generator=random)
        self.theta_initial, self.theta_global, *models = self._near_each_other(7)
        self.models = torch.stack(models)
        self.received = torch.ones((4, 5), dtype=torch.bool)
        self.received[range(4), range(4)] = False
        self.received[1, 3] = False

    def _near_each_other(self, count: int) -> list[Tensor]:
        drawn = [self.model.initial(np.random.default_rng((2, i))) for i in range(count)]
        return [drawn[0] + 0.3 * one for one in drawn]

    def state(self, algorithm: Algorithm) -> dict[str, Tensor]:
        """As at the start, but with personal models that have gone their own ways."""
        state = algorithm.initial_state(self.theta_initial, 4)
        if "theta_personal" in state:
            state["theta_personal"] = self.models[:4].clone()
        return state

    def group(
        self,
        state: Mapping[str, Tensor],
        sites: Sequence[int] = (0, 1, 2, 3),
        *,
        trainer: type[BatchedTrainer] | type[SequentialTrainer] = BatchedTrainer,
        device: str = "cpu",
    ) -> SiteGroup:
        """Some of the sites, in this order; who received what stays in main memory, as on a GPU."""
        chosen = list(sites)
        starts, sizes = (tuple(values[c] for c in chosen) for values in (self.starts, self.sizes))
        return SiteGroup(
            theta_global=self.theta_global.to(device),
            theta_initial=self.theta_initial.to(device),
            state={name: rows[chosen].to(device) for name, rows in state.items()},
            peers=Peers(self.models.to(device), self.received[chosen]),
            shard=Shard(self.x.to(device), self.y.to(device), starts, sizes),
            trainer=trainer(self.model),
            streams=lambda purpose: [stream(7, purpose, round_index=3, site=c) for c in chosen],
            local_epochs=2,
            batch_size=4,
            lr=0.1,
        )


@pytest.fixture
def four_sites() -> FourSites:
    return FourSites()
