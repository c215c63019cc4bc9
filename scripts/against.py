"""What runs of the built-in models cost today and in an older checkout, in turns, as a table.

`python scripts/against.py CHECKOUT [--repeats N]`, with `git worktree add CHECKOUT 549b31c` for release 0.1.0. Each
checkout has a process of its own, which makes the same run when it is asked to; what is compared is the processor's
time of it, the median of the repeats. The first run of each is not counted: it reads files and fills caches.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = {"dataset": "synthetic", "rows": 2000}
IMAGES: Final = {"dataset": "fmnist", "rows": 1200}
PRIVATE: Final = {"method": "fedavg", "dp_epsilon": 8.0, "dp_delta": 1e-4}
RUNS: Final[dict[str, dict[str, str | float]]] = {
    "small MLP": {**TABLE, "model": "small", "clients": 20, "rounds": 4},
    "small MLP, fedavg": {**TABLE, "model": "small", "method": "fedavg", "clients": 20, "rounds": 12},
    "small MLP, private": {**TABLE, "model": "small", **PRIVATE, "clients": 20, "rounds": 4},
    "paper's MLP": {**TABLE, "model": "paper", "clients": 6, "rounds": 2},
    "small CNN": {**IMAGES, "model": "small", "clients": 6, "rounds": 2},
    "small CNN, private": {**IMAGES, "model": "small", **PRIVATE, "clients": 6, "rounds": 2},
    "paper's CNN": {**IMAGES, "model": "paper", "clients": 6, "rounds": 1, "local_epochs": 1},
}
WORKER: Final = """
import json, sys, time
from secure_sapefl import Config, simulate
for line in sys.stdin:
    config = Config(protection="plaintext", threads=1, workers=0, **json.loads(line))
    began = time.process_time()
    simulate(config)
    print("took", time.process_time() - began, flush=True)
"""


@contextmanager
def worker(checkout: Path) -> Iterator[subprocess.Popen[str]]:
    paths = os.pathsep.join(str(checkout / place) for place in (".", "crypto"))
    command = [sys.executable, "-W", "ignore", "-c", WORKER]
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603 - our own tool
        command, env=environment, cwd=checkout, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process


def seconds(process: "subprocess.Popen[str]", run: dict[str, str | float]) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(run) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("took "):
            return float(line.split()[1])
    sys.exit(f"No answer to {run!r}: its checkout cannot make this run; what it said stands above.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    print("| run | before, CPU seconds | today | to before |\n|---|--:|--:|--:|")
    with worker(asked.checkout.resolve()) as old, worker(ROOT) as new:
        for name, run in RUNS.items():
            turns = [[seconds(one, run) for one in (old, new)] for _ in range(asked.repeats + 1)][1:]
            before, today = (statistics.median(column) for column in zip(*turns, strict=True))
            print(f"| {name} | {before:.2f} | {today:.2f} | {today / before:.2f}× |", flush=True)


if __name__ == "__main__":
    main()
