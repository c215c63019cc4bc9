"""How much of a step of local training is arithmetic that no other way of writing it would save.

Matrix products and convolutions are counted in operations and timed by torch's profiler. What they take at the speed of
a large product on the same core is the floor under a step: no engine on this processor is faster than that.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Any, Final

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from secure_sapefl.engine.device import cpu_threads
from secure_sapefl.experiments.bench_simulate import Tell
from secure_sapefl.models.stacked import Preset, build_model
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer

PRODUCTS: Final = (
    *("aten::bmm", "aten::baddbmm", "aten::baddbmm_", "aten::addmm", "aten::mm"),
    *("aten::mkldnn_convolution", "aten::_slow_conv2d_forward", "aten::convolution_backward"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    name: str
    shape: tuple[int, ...]
    preset: Preset
    sites: int
    rows: int = 64  # of each site: four steps


NETWORKS: Final = (
    Network(name="small MLP, 20 features", shape=(20,), preset="small", sites=100),
    Network(name="paper's MLP, 561 features", shape=(561,), preset="paper", sites=4),
    Network(name="small CNN, 28 x 28", shape=(1, 28, 28), preset="small", sites=20),
    Network(name="paper's CNN, 28 x 28", shape=(1, 28, 28), preset="paper", sites=4),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorRow:
    model: str
    gigaflops: float  # in products and convolutions, of one epoch of all sites
    seconds: float  # of the processor
    in_products: float  # share of the time that profiled operations took
    best: float  # GFLOP/s of a large product

    @property
    def floor_share(self) -> float:
        """What the arithmetic alone would take, as a share of what training takes."""
        return self.gigaflops / self.best / self.seconds

    @property
    def most_gained(self) -> float:
        """How many times faster training would be if all but products and convolutions took no time."""
        return 1 / self.in_products


def floors(tell: Tell, networks: tuple[Network, ...] = NETWORKS, repeats: int = 5) -> Iterator[FloorRow]:
    with cpu_threads(1):
        for network in networks:
            tell(f"profiling {network.sites} sites, {network.name}")
            yield _measured(network, repeats)


def _measured(network: Network, repeats: int) -> FloorRow:
    trainer = BatchedTrainer(build_model(network.shape, 10, network.preset))
    one_by_one = replace(trainer, stack_bytes=1)  # torch counts the gradient of grouped convolutions too high
    generator, count = torch.Generator().manual_seed(0), network.sites * network.rows
    shard = Shard(
        torch.randn((count, *network.shape), generator=generator),
        torch.randint(10, (count,), generator=generator),
        tuple(range(0, count, network.rows)),
        (network.rows,) * network.sites,
    )
    streams = [np.random.default_rng(site) for site in range(network.sites)]
    plan = plan_batches(shard.sizes, streams, epochs=1, batch_size=16)
    theta = trainer.model.initial(np.random.default_rng(0)).repeat(network.sites, 1)

    def epoch(trainer: BatchedTrainer = trainer) -> None:
        trainer.train(theta, shard, plan, LocalLoss(), 0.05)

    counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten.baddbmm_: _in_place})
    with counter:
        epoch(one_by_one)
    pairs = [(_seconds(epoch), _best_product()) for _ in range(repeats)]
    seconds, best = np.median(pairs, axis=0)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        epoch()
    taken = {one.key: one.self_cpu_time_total for one in profiled.key_averages()}
    return FloorRow(
        model=network.name,
        gigaflops=counter.get_total_flops() / 1e9,
        seconds=float(seconds),
        in_products=sum(taken.get(name, 0) for name in PRODUCTS) / sum(taken.values()),
        best=float(best),
    )


def _in_place(_: Any, left: tuple[int, ...], right: tuple[int, ...], **__: Any) -> int:
    """Operations of a product that is added to what is there; torch counts all others itself."""
    return 2 * left[0] * left[1] * left[2] * right[2]


def _seconds(work: Any) -> float:
    begun = process_time()
    work()
    return process_time() - begun


def _best_product(size: int = 768) -> float:
    """GFLOP/s of the processor's own multiplication of two large matrices."""
    a = torch.ones(size, size)
    return 2 * size**3 / 1e9 / _seconds(lambda: a @ a)


def to_json(rows: list[FloorRow]) -> dict[str, Any]:
    return {"floor": [{**asdict(row), "floor_share": row.floor_share, "most_gained": row.most_gained} for row in rows]}
