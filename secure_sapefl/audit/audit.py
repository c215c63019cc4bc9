"""The whole audit of a finished run: run it again with its messages recorded, and attack what each party was handed.

Nothing has to be saved beside the run's configuration: simulated runs are deterministic, and whether the second run
gave the first one's numbers is part of the findings.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from secure_sapefl.algorithms.base import Homomorphic
from secure_sapefl.algorithms.own import algorithm as find_algorithm
from secure_sapefl.audit.canaries import run_with_canaries
from secure_sapefl.audit.candidates import candidates_of
from secure_sapefl.audit.epsilon import empirical_epsilon, mechanisms_of
from secure_sapefl.audit.file_rows import rows_moved
from secure_sapefl.audit.findings import Findings, Inferences, PartyFindings
from secure_sapefl.audit.inversion import Attack, Known
from secure_sapefl.audit.membership import infer_membership
from secure_sapefl.audit.parties import AtServer, Party
from secure_sapefl.audit.picture import save_picture
from secure_sapefl.audit.properties import infer_properties
from secure_sapefl.audit.rebuilding import Rebuilding, rebuild_alone, rebuild_from_update
from secure_sapefl.audit.references import World, models_seen, reference_worlds
from secure_sapefl.audit.replay import Replay, replay
from secure_sapefl.audit.traffic import Times, time_sites
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import assemble, divided, federation_of
from secure_sapefl.engine.run_folder import config_of, identity_of, summary_of, writing
from secure_sapefl.errors import BadInput
from secure_sapefl.storage.files import write_whole
from secure_sapefl.tasks.base import Task

Say = Callable[[str], None]
"""Told what comes next, once for each of `Effort.stages`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How hard to try. The defaults audit a small run in a few minutes on two cores."""

    pairs: int = 2  # of reference worlds
    canaries: int = 400
    trainings: int = 400  # repetitions of one private training, with and without a record
    queries: int = 1000  # and of one release of similarities
    removals: int = 5  # of a row from the file
    attack: Attack = field(default_factory=Attack)

    @property
    def stages(self) -> int:
        return 2 * self.pairs + 6


STANDARD: Final = Effort()


def audit(folder: Path, effort: Effort = STANDARD, seed: int = 0, say: Say = lambda _: None) -> Findings:
    config, summary = _finished(folder)
    everybody = federation_of(config)
    identity_of(folder).check_rows(folder, everybody)
    blueprint = assemble(config, everybody).blueprint
    identity_of(folder).check_sources(folder, blueprint.sources)
    _require_losses_of_records(blueprint.task)
    federation = divided(everybody, config.late_clients)[0]
    config = config.model_copy(update={"late_clients": 0})
    say("running again, recorded")
    again = replay(config, federation)
    say("timing each site alone")
    times = time_sites(config, federation)
    worlds = _worlds(config, federation, effort, seed, say)
    say("a run with canaries")
    canaries = run_with_canaries(config, federation, effort.canaries, seed)
    moved = None
    if federation.public is not None:
        moved = rows_moved(config, federation, effort.removals, np.random.default_rng([seed, 8]))
    say("each mechanism alone")
    mechanisms = mechanisms_of(config, federation, again.terms, effort.trainings, effort.queries, seed)
    say("rebuilding rows from updates")
    known = Known.from_federation(again.terms.undrawn, again.terms.task, federation)
    control = _control(config, federation, again, known, effort, seed)
    rebuilt = {party.name: _rebuilt(party, federation, known, effort, seed) for party in again.parties}
    say("membership and properties")
    return Findings(
        facts=_facts(config, summary, again, effort, seed),
        parties=tuple(
            _of_party(party, again, federation, worlds, rebuilt[party.name], times, seed) for party in again.parties
        ),
        control=control,
        encrypted=config.protection == "ckks",
        key_within_reach=again.key_within_reach,
        forgeries=again.forgeries,
        epsilon=empirical_epsilon(canaries, mechanisms, config.dp_delta, moved),
        sizes=again.sizes.to_json(),
    )


def write_findings(findings: Findings, folder: Path) -> None:
    """`audit.json` and `plots/audit-inversion.png` beside the run's own files, where its report finds them."""
    attempts = (findings.control, *(party.rebuilding for party in findings.parties if party.rebuilding is not None))
    shown = list({attempt.what: attempt for attempt in attempts}.values())  # two parties may hold the same update
    with writing(folder):
        save_picture(shown, folder / "plots" / "audit-inversion.png")
        write_whole(folder / "audit.json", json.dumps(findings.to_json(), indent=1).encode())


def _finished(folder: Path) -> tuple[Config, dict[str, Any]]:
    """Configuration and summary of a run that is over and in which something was sent."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder. Give the folder of a finished run, as `simulate --out` makes it.")
    config = config_of(folder)
    summary = summary_of(folder)
    algorithm = find_algorithm(config.method)
    if algorithm.homomorphic is Homomorphic.SILENT:
        raise BadInput(
            f"{algorithm.title} sends nothing: no party but the site itself sees a model, and there is nothing to "
            "audit. Audit a run of another method (`secure-sapefl methods`)."
        )
    return config, summary


def _require_losses_of_records(task: Task) -> None:
    if task.batch_loss is not None:
        raise BadInput(
            f"The loss of the task {task.name!r} is one of whole batches, and the attacks of an audit ask how well a "
            "model fits a single record. Give the task a record_loss, or audit another task on the same records."
        )


def _worlds(config: Config, federation: Federation, effort: Effort, seed: int, say: Say) -> list[World]:
    worlds, coming = [], reference_worlds(config, federation, effort.pairs, seed)
    for place in range(2 * effort.pairs):
        say(f"reference run {place + 1} of {2 * effort.pairs}")
        worlds.append(next(coming))
    return worlds


def _control(
    config: Config, federation: Federation, again: Replay, known: Known, effort: Effort, seed: int
) -> Rebuilding:
    victim = min(range(len(federation.clients)), key=lambda c: len(federation.clients[c].train))
    privacy = again.result.privacy
    noise = None if privacy is None else privacy["noise_multiplier_per_client"][victim] or privacy["noise_multiplier"]
    theta = again.terms.theta_initial[: again.terms.model.parameters]
    client = federation.clients[victim]
    return rebuild_alone(client, again.terms.model, known, theta, config, noise, effort.attack, seed)


def _rebuilt(party: Party, federation: Federation, known: Known, effort: Effort, seed: int) -> Rebuilding | None:
    """From the update of the smallest site a party holds one of: there each row weighs most."""
    clients = {client.name: client for client in federation.clients}
    if not party.updates:
        return None
    victim = min(party.updates, key=lambda site: len(clients[site].train))
    return rebuild_from_update(party.updates[victim], clients[victim], known, effort.attack, seed)


def _of_party(
    party: Party,
    again: Replay,
    federation: Federation,
    worlds: list[World],
    rebuilt: Rebuilding | None,
    times: Times,
    seed: int,
) -> PartyFindings:
    rng = np.random.default_rng([seed, 7])
    candidates = candidates_of(federation, again.terms.task, rng)
    seen = models_seen(party, again.terms.study.sites)
    on_the_wire = isinstance(party, AtServer) or party.name == "observer"
    silent: Inferences = "Not in its sight."
    return PartyFindings(
        name=party.name,
        who=again.described[party.name],
        memberships=tuple(infer_membership(one, candidates, again.terms.model, worlds, rng) for one in seen),
        rebuilding=rebuilt,
        scores=infer_properties(party.scores, federation, rng) if party.scores else silent,
        sizes=infer_properties(again.sizes.by_site, federation, rng) if on_the_wire else silent,
        times=infer_properties(times.by_site, federation, rng) if on_the_wire else silent,
    )


def _facts(config: Config, summary: dict[str, Any], again: Replay, effort: Effort, seed: int) -> dict[str, Any]:
    main = again.result.main.to_json()
    before = summary.get("metrics", summary)[again.result.metrics[0].name]  # release 0.1.0 had no others than accuracy
    same = main == {name: before[name] for name in main}
    return {
        "method": config.method,
        "task": again.terms.task.name,
        "dataset": config.dataset,
        "protection": config.protection,
        "keys": config.keys,
        "dp_epsilon": config.dp_epsilon,
        "seed": seed,
        "references": 2 * effort.pairs,
        "same_numbers_again": same,
    }
