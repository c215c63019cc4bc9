"""Under shared noise all methods of a study train one and the same common model; they differ in what sites make of it
at home, where nothing is noised. So an experiment trains it once, for all methods and all settings at home.

The model is kept as a file beside the cells, under the name of the run that trains it: FedAvg, which uses it as it is.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes

from secure_sapefl.algorithms.own import algorithm
from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.device import cpu_threads
from secure_sapefl.engine.events import RunEvent, TrainingEnded
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.cells import (
    Cell,
    CellResult,
    test_rows_of,
    unchanged_federation,
    without_warnings,
)
from secure_sapefl.experiments.output import save
from secure_sapefl.metrics import Array
from secure_sapefl.protocol.blueprint import shares_noise

_AS_IT_IS: Final[dict[str, Any]] = {"method": "fedavg", "options": {}}
_STEPS_AT_HOME: Final = ("lr", "local_epochs", "max_grad_norm")


def common_of(cell: Cell) -> Cell | None:
    """The run that trains a cell's common model; None where there is none, each site's own noise hiding it, say.

    With whole sites as unit, what is clipped is an update that a site trains, so that those steps are part of it.
    """
    config = cell.config
    if config.dp_epsilon is None or not shares_noise(config, algorithm(config.method)):
        return None
    names = () if config.dp_unit == "site" else _STEPS_AT_HOME
    usual = {name: Config.model_fields[name].default for name in names}
    return replace(cell, config=config.model_copy(update={**_AS_IT_IS, **usual}))


def path_of(common: Cell, folder: Path) -> Path:
    return folder / f"common-{Path(common.config.dataset).stem}-{common.digest}.safetensors"


def train(common: Cell) -> Array:
    """A common model, [P]."""
    found: list[Array] = []

    def hear(event: RunEvent) -> None:
        if isinstance(event, TrainingEnded):
            found.append(event.theta_global.cpu().numpy())

    with without_warnings():
        simulate(common.config, federation=unchanged_federation(common), observers=[hear])
    return found[0]


def run_at_home(cell: Cell, theta_global: Array) -> CellResult:
    """What the cell's method makes of a common model: the numbers that its whole run would end with."""
    begun, federation = time.perf_counter(), unchanged_federation(cell)
    with without_warnings(), cpu_threads(cell.config.threads):
        assembly = assemble(cell.config, federation)
        last = assembly.blueprint.config.rounds - 1
        theta = torch.tensor(theta_global, device=assembly.device)
        scores, _ = assembly.sites.evaluate(theta, last, assembly.group_size)
    return CellResult.from_scores(scores, assembly, time.perf_counter() - begun, test_rows_of(federation))


def keep(theta_global: Array, path: Path) -> None:
    save(path, to_bytes({"theta_global": np.ascontiguousarray(theta_global)}))


def read(path: Path) -> Array:
    try:
        return load_file(path)["theta_global"]
    except (OSError, KeyError, SafetensorError) as error:
        raise BadInput(
            f"The common model {path} is damaged ({type(error).__name__}). Delete that file; it is trained again."
        ) from None
