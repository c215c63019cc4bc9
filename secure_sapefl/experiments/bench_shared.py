"""What a step under shared noise costs: one study of many steps, in the clear, under one key, and under joint keys.

All sites and the server run in this process, so that seconds are those of everybody together. Bytes are a site's own,
counted from the messages. The numbers must not differ by protection, and a study in which they do is an error.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from secure_sapefl.config import Config
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import SapeflError
from secure_sapefl.experiments.bench_simulate import SMALL, Setting, Tell, random_federation

WAYS: Final[dict[str, dict[str, str]]] = {
    "plaintext": {"protection": "plaintext"},
    "one key for all": {"protection": "ckks", "keys": "shared"},
    "joint keys": {"protection": "ckks", "keys": "joint"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    way: str
    seconds: float  # a step, of all sites and the server; the median, since the first one prepares
    up: float  # bytes a site sends in a step
    down: float
    study_seconds: float
    accuracy: float  # of random labels: no measure of anything, but the same in every way


def shared_steps(tell: Tell, clients: int, steps: int, setting: Setting = SMALL) -> Iterator[StepRow]:
    federation = random_federation(Setting(**{**asdict(setting), "clients": clients}))
    first: Result | None = None
    for way, protection in WAYS.items():
        tell(f"{steps} steps of {clients} sites under shared noise, {setting.name}: {way}")
        result = simulate(_config(steps, protection), federation=federation)
        first = first or result
        if result.accuracy != first.accuracy:
            raise SapeflError(f"The study under {way} ended with other models than the one in the clear.")
        yield _row(way, result)


def _config(steps: int, protection: dict[str, str]) -> Config:
    values = {
        "method": "fedavg",
        "rounds": steps,
        "evaluate_every": steps,
        "participation": 1.0,
        "dp_noise": "shared",
        "dp_epsilon": 4.0,
        "dp_delta": 1e-5,
        "threads": 1,
        "workers": 0,
    }
    return Config.read(values | protection, "a benchmark")


def _row(way: str, result: Result) -> StepRow:
    rounds, traffic = result.rounds, result.rounds[-1].traffic
    return StepRow(
        way=way,
        seconds=float(np.median([one.total_seconds - one.seconds.get("evaluate", 0.0) for one in rounds])),
        up=traffic.up,
        down=traffic.down,
        study_seconds=result.seconds()["total"],
        accuracy=result.accuracy.mean,
    )


def to_json(rows: list[StepRow], parameters: int) -> dict[str, Any]:
    return {"parameters": parameters, "ways": [asdict(row) for row in rows]}
