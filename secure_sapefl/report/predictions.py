"""What the models of a finished run say about every site's test rows, one by one.

A summary holds an accuracy and an AUC a site. Intervals over patients and calibration need the rows themselves: they
are made again from the run's configuration, and the models are those of its checkpoint.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.data import Rows
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.run_folder import config_of, identity_of, saved_state, summary_of
from secure_sapefl.metrics import Floats, softmax
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.stopwatch import Stopwatch


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePredictions:
    """A site's test rows, and the probability of each class (second axis) its own model gives each of them."""

    site: SiteId
    rows: Rows
    probabilities: Floats


def predictions_of(folder: Path) -> tuple[SitePredictions, ...]:
    """For every site that trained, in the order of the roster."""
    summary_of(folder)  # or say that the run is not finished
    config = config_of(folder)
    _, tensors = saved_state(folder)
    federation = federation_of(config)
    identity_of(folder).check_rows(folder, federation)
    assembly = assemble(config, federation)
    blueprint, device, sites = assembly.blueprint, assembly.device, assembly.sites
    sites.state = {name: tensors[name] for name in sites.state}
    theta_global, nobody = tensors["theta_global"].to(device), Peers.nobody(1, sites.theta_initial)
    found = []
    for c, client in enumerate(assembly.federation.clients):
        group = sites.group([c], theta_global, config.rounds - 1, nobody, Stopwatch())
        theta = blueprint.algorithm.personal_models(group, blueprint.options)
        logits = blueprint.model.outputs(theta, torch.from_numpy(client.test.X).to(device)[None])[0].cpu().numpy()
        found.append(SitePredictions(site=client.name, rows=client.test, probabilities=softmax(logits)))
    return tuple(found)
