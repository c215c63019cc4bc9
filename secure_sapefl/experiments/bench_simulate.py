"""How fast is a simulation, and against what? Ratios come from one run, because machines are noisy.

Rows are random numbers of the shape the setting has; speed does not depend on what they mean.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from secure_sapefl.config import Config, ProtectionName
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.device import cpu_threads
from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.models.stacked import StackedModel, build_model
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.training.objective import LocalLoss, Objective
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer, Trainer

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A model and the sites that train it."""

    name: str
    features: int
    classes: int
    model: str
    clients: int
    rows: int  # training rows of a site, on average; sites have half to one and a half times as many

    def sizes(self) -> list[int]:
        spread = np.random.default_rng(0).uniform(0.5, 1.5, self.clients)
        return sorted((max(2, round(self.rows * s)) for s in spread), reverse=True)


SMALL = Setting(name="small MLP 128-64", features=20, classes=10, model="small", clients=100, rows=80)
PAPER = Setting(name="paper's MLP 1024-512-256", features=561, classes=6, model="paper", clients=100, rows=82)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRow:
    setting: str
    clients: int
    parameters: int
    steps: int
    sequential_seconds: float
    batched_seconds: float
    operations: dict[str, float]  # a step of a stack, plain or anchored, hands to a device

    @property
    def ratio(self) -> float:
        return self.sequential_seconds / self.batched_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    protection: str
    seconds: dict[str, float]

    @property
    def personal_over_local(self) -> float:
        return self.seconds["personal"] / self.seconds["local"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRow:
    clients: int
    sampled: int
    peers: int
    seconds_per_round: float

    @property
    def microseconds_per_pair(self) -> float:
        return 1e6 * self.seconds_per_round / (self.sampled * self.peers)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRow:
    """Seconds a round where every round is evaluated, and where the last one is."""

    method: str
    every_seconds: float
    last_seconds: float

    @property
    def ratio(self) -> float:
        return self.every_seconds / self.last_seconds


def engines(tell: Tell, repeats: int = 3) -> Iterator[EngineRow]:
    """One epoch of plain local training, batched against sequential, best of ``repeats`` taken in turns."""
    for setting in (SMALL, Setting(**{**asdict(PAPER), "clients": 10})):
        tell(f"training {setting.clients} sites, {setting.name}: sequential and batched in turns")
        model = build_model((setting.features,), setting.classes, "paper" if setting.model == "paper" else "small")
        trainers = SequentialTrainer(model), BatchedTrainer(model)
        seconds = [[train_seconds(trainer, setting) for trainer in trainers] for _ in range(repeats)]
        sequential, batched = np.min(seconds, axis=0)
        yield EngineRow(
            setting=setting.name,
            clients=setting.clients,
            parameters=model.parameters,
            steps=sum(-(-size // 16) for size in setting.sizes()),
            sequential_seconds=float(sequential),
            batched_seconds=float(batched),
            operations=operations_a_step(model),
        )


def train_seconds(trainer: Trainer, setting: Setting, clock: Callable[[], float] = time.perf_counter) -> float:
    sizes = setting.sizes()
    starts = tuple(int(start) for start in np.cumsum([0, *sizes])[:-1])
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(sum(sizes), setting.features, generator=generator)
    y = torch.randint(setting.classes, (sum(sizes),), generator=generator)
    theta = trainer.model.initial(np.random.default_rng(0)).repeat(setting.clients, 1)
    streams = [np.random.default_rng(site) for site in range(setting.clients)]
    plan = plan_batches(sizes, streams, epochs=1, batch_size=16)
    with cpu_threads(None):
        start = clock()
        trainer.train(theta, Shard(x, y, starts, tuple(sizes)), plan, LocalLoss(), 0.05)
        return clock() - start


class _Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's
        self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += not func.is_view
        return func(*args, **(kwargs or {}))


def operations_a_step(model: StackedModel) -> dict[str, float]:
    """Computations a step hands to a graphics card: each costs some microseconds, however small. They are counted on
    torch's `meta` device, which has all of a card but its numbers; how many sites are in the stack does not matter."""
    theta, sizes = torch.empty((2, model.parameters), device="meta"), (32, 32)
    answers = [torch.empty((2, 32, model.classes), device="meta")] * 2
    anchors = Anchors.stacked((theta, theta[0]), answers, [torch.empty(2, device="meta")] * 2)
    objectives: dict[str, Objective] = {"plain": LocalLoss(), "anchored": CosineAnchored(anchors, 0.5, "flattened")}
    x = torch.empty((64, model.layers[0].shapes()[0][1]), device="meta")
    shard = Shard(x, torch.empty(64, dtype=torch.int64, device="meta"), (0, 32), sizes)

    def counted(objective: Objective, epochs: int) -> int:
        plan = plan_batches(sizes, [np.random.default_rng(site) for site in (0, 1)], epochs=epochs, batch_size=16)
        mode = _Counted()
        with mode:
            BatchedTrainer(model, stack_bytes=None).train(theta, shard, plan, objective, 0.05)
        return mode.operations

    return {name: (counted(one, 2) - counted(one, 1)) / 2 for name, one in objectives.items()}


def phases(tell: Tell, setting: Setting = PAPER) -> Iterator[PhaseRow]:
    """A later round of SAPE-FL in the paper's setting (100 sites, r = 0.7), encrypted and not."""
    federation = random_federation(setting)
    protections: tuple[ProtectionName, ...] = ("plaintext", "ckks")
    for protection in protections:
        tell(f"two rounds of SAPE-FL, {setting.clients} sites, {setting.name}, {protection}")
        config = Config(method="sapefl", rounds=2, model="paper", protection=protection)
        record = _last_round(config, federation)
        seconds: dict[str, float] = {"total": record.total_seconds}
        seconds.update(record.seconds.items())
        yield PhaseRow(protection=protection, seconds=seconds)


def scaling(tell: Tell, peers: int = 10) -> Iterator[ScalingRow]:
    """More sites, the same number of peers each: the cost of a round grows with sites times peers."""
    for clients in (50, 100, 200, 400):
        tell(f"three rounds of SAPE-FL, {clients} sites with {peers} peers each, {SMALL.name}")
        config = Config(method="sapefl", rounds=3, protection="plaintext", peers_per_client=peers)
        record = _last_round(config, random_federation(Setting(**{**asdict(SMALL), "clients": clients})))
        sampled = -(-clients * 7 // 10)
        seconds = record.total_seconds - record.seconds["evaluate"]
        yield ScalingRow(clients=clients, sampled=sampled, peers=peers, seconds_per_round=seconds)


def evaluation(tell: Tell, rounds: int = 5) -> Iterator[EvaluationRow]:
    """What looking at every round costs: a site that is evaluated may have to make its model first."""
    federation = random_federation(Setting(**{**asdict(SMALL), "clients": 50}))
    for method in ("fedavg", "fedavg-ft", "sapefl", "sapefl-plus"):
        tell(f"{rounds} rounds of {method}, {len(federation.clients)} sites, {SMALL.name}: evaluated each, and once")
        config = Config(method=method, rounds=rounds, protection="plaintext", peers_per_client=10)
        every, last = (
            sum(record.total_seconds for record in simulate(one, federation=federation).rounds) / rounds
            for one in (config, config.model_copy(update={"evaluate_every": rounds}))
        )
        yield EvaluationRow(method=method, every_seconds=every, last_seconds=last)


def _last_round(config: Config, federation: Federation) -> RoundRecord:
    return simulate(config, federation=federation).rounds[-1]


def random_federation(setting: Setting) -> Federation:
    rng = np.random.default_rng(0)
    return Federation(
        dataset="random",
        shape=(setting.features,),
        class_names=tuple(str(k) for k in range(setting.classes)),
        clients=tuple(
            ClientData(name=f"client-{c:03d}", train=_rows(rng, size, setting), test=_rows(rng, size // 4 + 1, setting))
            for c, size in enumerate(setting.sizes())
        ),
        source="random numbers",
        partition="unequal sizes",
    )


def _rows(rng: np.random.Generator, count: int, setting: Setting) -> Rows:
    x = rng.standard_normal((count, setting.features), dtype=np.float32)
    return Rows(x, rng.integers(setting.classes, size=count))


def to_json(
    engine: list[EngineRow], phase: list[PhaseRow], scale: list[ScalingRow], looks: list[EvaluationRow]
) -> dict[str, Any]:
    return {
        "engines": [{**asdict(row), "ratio": row.ratio} for row in engine],
        "phases": [{**asdict(row), "personal_over_local": row.personal_over_local} for row in phase],
        "ckks_share_of_round": ckks_share(phase),
        "scaling": [{**asdict(row), "microseconds_per_pair": row.microseconds_per_pair} for row in scale],
        "evaluation": [{**asdict(row), "ratio": row.ratio} for row in looks],
    }


def ckks_share(rows: list[PhaseRow]) -> float | None:
    """What encryption adds, as a share of the encrypted round."""
    for plain, encrypted in pairwise(rows):
        return 1 - plain.seconds["total"] / encrypted.seconds["total"]
    return None
