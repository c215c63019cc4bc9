"""What the models of a finished run say about every site's test rows, one by one.

A summary holds an accuracy and an AUC a site. Intervals over patients and calibration need the rows themselves: they
are made again from the run's configuration, and the models are those that were scored.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from secure_sapefl.data import Rows
from secure_sapefl.engine.assembly import divided, federation_of
from secure_sapefl.engine.run_folder import config_of, identity_of, models_of
from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.metrics import Floats
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.tasks.builtin import TASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePredictions:
    """A site's test rows, and the probability of each class or label (second axis) its own model gives each of them; of
    numbers, the numbers themselves."""

    site: SiteId
    rows: Rows
    probabilities: Floats


def predictions_of(folder: Path) -> tuple[SitePredictions, ...]:
    """For every site that trained, in the order of the roster."""
    models = models_of(folder)
    config = config_of(folder)
    federation = federation_of(config)
    identity_of(folder).check_rows(folder, federation)
    training, _ = divided(federation, config.late_clients)
    return tuple(
        SitePredictions(
            site=client.name, rows=client.test, probabilities=_probabilities(models, client.name, client.test)
        )
        for client in training.clients
    )


def _probabilities(models: ScoredModels, site: SiteId, rows: Rows) -> Floats:
    theta = models.thetas[site]
    outputs = models.model.outputs(theta[None], torch.from_numpy(rows.X)[None])[0].numpy()
    task = TASKS.get(models.task)
    return np.asarray(models.labels.in_units(outputs if task is None else task.read(outputs)))
