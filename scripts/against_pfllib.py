"""What a round of FedAvg costs here and in PFLlib (github.com/TsingZ0/PFLlib), in turns, as a table.

`python scripts/against_pfllib.py CHECKOUT [--repeats N] [--only WORDS]`. Both train the same network on rows of the
same shape: every site in every round, one epoch in batches of 16, plain SGD on one core. PFLlib runs as it is, its
round from `send_models` to `aggregate_parameters`; ours is a whole round without encryption, messages and checks
included. What is compared is the processor's time of some rounds and one evaluation, the median of the repeats.
"""

import argparse
import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from secure_sapefl import Config, simulate
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.events import RunBegun, RunEnded, RunEvent
from secure_sapefl.models.stacked import Preset, build_model

CLASSES: Final = 10
BATCH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    name: str
    shape: tuple[int, ...]
    preset: Preset
    sites: int
    steps: int  # of a site in a round
    rounds: int

    def federation(self) -> Federation:
        """Random rows; speed does not depend on what they mean. As many for a test as there are classes, one of each,
        since PFLlib's AUC asks for that."""
        rng = np.random.default_rng(0)

        def rows(count: int) -> Rows:
            X = rng.standard_normal((count, *self.shape), dtype=np.float32)
            return Rows(X, np.resize(np.arange(CLASSES), count).astype(np.int64))

        clients = tuple(
            ClientData(name=f"site-{c}", train=rows(BATCH * self.steps), test=rows(2 * CLASSES))
            for c in range(self.sites)
        )
        names = tuple(str(k) for k in range(CLASSES))
        return Federation(
            dataset="random", source="noise", partition="iid", clients=clients, shape=self.shape, class_names=names
        )


RUNS: Final = (
    Run(name="small MLP, 20 features", shape=(20,), preset="small", sites=100, steps=5, rounds=5),
    Run(name="small MLP, 561 features", shape=(561,), preset="small", sites=100, steps=5, rounds=5),
    Run(name="paper's MLP, 561 features", shape=(561,), preset="paper", sites=100, steps=5, rounds=2),
    Run(name="paper's MLP, 561 features, 3 steps", shape=(561,), preset="paper", sites=100, steps=3, rounds=2),
    Run(name="small CNN, 28 x 28", shape=(1, 28, 28), preset="small", sites=20, steps=5, rounds=3),
    Run(name="paper's CNN, 28 x 28", shape=(1, 28, 28), preset="paper", sites=20, steps=5, rounds=2),
)


def ours(run: Run, federation: Federation) -> float:
    """Processor's seconds from the beginning of the first round to the end of the last."""
    config = Config(
        method="fedavg", protection="plaintext", participation=1.0, local_epochs=1, batch_size=BATCH, model=run.preset,
        clients=run.sites, rounds=run.rounds, evaluate_every=run.rounds, threads=1, workers=0,
    )  # fmt: skip
    times = []

    def look(event: RunEvent) -> None:
        if isinstance(event, (RunBegun, RunEnded)):
            times.append(time.process_time())

    simulate(config, federation=federation, observers=[look])
    return times[1] - times[0]


def written(federation: Federation, folder: Path) -> None:
    """The rows where PFLlib looks for them."""
    for part in ("train", "test"):
        place = folder / "dataset" / "random" / part
        place.mkdir(parents=True)
        for number, client in enumerate(federation.clients):
            rows: Rows = getattr(client, part)
            np.savez_compressed(place / f"{number}.npz", data={"x": rows.X, "y": rows.y})


def theirs(run: Run) -> float:
    """Processor's seconds of `FedAvg.train`, which evaluates before its first round; it writes no results here."""
    from flcore.servers.serveravg import FedAvg

    arguments = types.SimpleNamespace(
        model=build_model(run.shape, CLASSES, run.preset).module(), device="cpu", dataset="random",
        num_classes=CLASSES, global_rounds=run.rounds - 1, local_epochs=1, batch_size=BATCH, local_learning_rate=0.05,
        num_clients=run.sites, join_ratio=1.0, random_join_ratio=False, few_shot=0, algorithm="FedAvg",
        time_select=False, goal="time", time_threthold=1e9, save_folder_name=".", top_cnt=100, auto_break=False,
        eval_gap=run.rounds, client_drop_rate=0.0, train_slow_rate=0.0, send_slow_rate=0.0, dlg_eval=False, dlg_gap=100,
        batch_num_per_client=2, num_new_clients=0, fine_tuning_epoch_new=0, learning_rate_decay=False,
        learning_rate_decay_gamma=0.99,
    )  # fmt: skip
    server = FedAvg(arguments, 0)
    server.save_results = server.save_global_model = lambda: None
    began = time.process_time()
    server.train()
    return time.process_time() - began


@contextlib.contextmanager
def laid_out(federation: Federation) -> Iterator[None]:
    """PFLlib reads its rows beside the folder it is started in."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        written(federation, Path(folder))
        (Path(folder) / "system").mkdir()
        os.chdir(Path(folder) / "system")
        try:
            yield
        finally:
            os.chdir(before)


def quiet(work: Callable[[], float]) -> float:
    """Without what PFLlib prints of every round."""
    with contextlib.redirect_stdout(io.StringIO()):
        return work()


def medians(run: Run, repeats: int) -> tuple[float, float]:
    federation = run.federation()
    with laid_out(federation):
        turns = [(quiet(lambda: theirs(run)), ours(run, federation)) for _ in range(repeats + 1)][1:]
    there, here = (statistics.median(column) for column in zip(*turns, strict=True))
    return there, here


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="runs whose name has these words")
    asked = parser.parse_args()
    sys.path.insert(0, str(asked.checkout.resolve() / "system"))
    saves_results: Any = types.ModuleType("h5py")  # which it does not do here
    sys.modules.setdefault("h5py", saves_results)
    torch.set_num_threads(1)
    print("| run | PFLlib, CPU seconds a round | here | faster |\n|---|--:|--:|--:|")
    for run in RUNS:
        if asked.only in run.name:
            there, here = medians(run, asked.repeats)
            print(
                f"| {run.name} | {there / run.rounds:.3f} | {here / run.rounds:.3f} | {there / here:.1f}× |", flush=True
            )


if __name__ == "__main__":
    main()
