"""Runs the protocol in one process: the server and every site, message by message, as a network would.

Server and sites meet only through `protocol/`. In an encrypted run the server object is built from public parameters
and is handed frames, sealed models and names; the key stays with the sites' half of this file.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.algorithms.base import Peers
from secure_sapefl.algorithms.registry import algorithm as find_algorithm
from secure_sapefl.config import Config
from secure_sapefl.data import Federation, Progress, build_federation, no_progress, private_options
from secure_sapefl.engine.device import cpu_threads, group_size, make_trainer, resolve_device
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.late import LateSites, divided
from secure_sapefl.engine.privacy import privacy_for, warn_of_preparation
from secure_sapefl.engine.protection import protection_for
from secure_sapefl.engine.result import Result, RoundRecord, Traffic, versions
from secure_sapefl.engine.run_folder import RunFolder, config_of, identity_of
from secure_sapefl.engine.similarity_log import SimilarityLog
from secure_sapefl.engine.sites import Sites
from secure_sapefl.engine.uploads import UploadQueue
from secure_sapefl.engine.workers import Protector
from secure_sapefl.metrics import Scores
from secure_sapefl.models import build_model
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.site import absorb, open_peers, run_round
from secure_sapefl.protocol.terms import study_terms
from secure_sapefl.stopwatch import Stopwatch

OnRound = Callable[[RoundRecord], None]
Tamper = Callable[[Answer, float], Answer]
"""What a hostile site makes of its answer, given the study's largest score, before it is encrypted and sent."""


def simulate(
    config: Config,
    out: Path | None = None,
    on_round: OnRound | None = None,
    federation: Federation | None = None,
) -> Result:
    """Run a study from the start. With ``out``, everything is saved there and a killed run can be resumed.

    The data is what ``config`` names, unless a ``federation`` is given.
    """
    federation = federation or federation_of(config)
    simulation = Simulation(config, federation)
    if out is None:
        return simulation.run(on_round=on_round)
    with RunFolder.create(out, simulation.config, Identity.of(federation)) as folder:
        return simulation.run(folder, on_round)


def resume(out: Path, on_round: OnRound | None = None, federation: Federation | None = None) -> Result:
    """Go on after the last whole round of a run that was stopped, with the data it was begun with.

    A run that was begun with a ``federation`` of its own needs the same one again.
    """
    with RunFolder.reopen(out) as folder:
        config = config_of(out)
        federation = federation or federation_of(config)
        identity_of(out).check_rows(out, federation)
        simulation = Simulation(config, federation)
        simulation.restore(*folder.load())
        return simulation.run(folder, on_round)


class Simulation:
    """One study: who takes part, what they hold, and the round, written once for every method."""

    def __init__(self, config: Config, federation: Federation | None = None, tamper: Tamper | None = None) -> None:
        self._algorithm = find_algorithm(config.method)
        self._options = self._algorithm.options.read(config.options, f"options of {config.method}")
        self._device = resolve_device(config.device)
        self._federation, late = divided(federation or federation_of(config), config.late_clients)
        self._tamper = tamper or (lambda answer, _: answer)
        model = build_model(self._federation.shape, self._federation.classes, config.model)
        trainer = make_trainer(config.engine, model, self._device)
        self._sites = Sites(self._federation, self._algorithm, self._options, trainer, config, self._device)
        self._study = study_terms(
            config,
            self._algorithm,
            self._options,
            model,
            name=f"{config.method}-{config.seed}",
            sites=self._sites.names,
            largest_site=max(self._sites.sizes),
        )
        self._group_size = group_size(model.parameters, self._device, config.group_size)
        self._protection = protection_for(config.protection, self._algorithm, self._study.cohort_size, config.workers)
        warn_of_preparation(config, learned=self._federation.learned)
        self._privacy = privacy_for(
            config,
            self._algorithm,
            self._options,
            self._sites,
            self._study.name,
            learned=self._federation.learned,
        )
        self._late = (
            None
            if late is None
            else LateSites(late, self._algorithm, self._options, trainer, config, self._device, self._study)
        )
        self._codec = self._protection.codec()
        self._relayed: dict[SiteId, SealedModel] = {}
        self._server = Server(self._study, self._protection.adders(self._study), self._relayed)
        self._theta_global = self._algorithm.initial_global(self._sites.theta_initial, self._options)
        self._step = lambda theta, mean: self._algorithm.global_step(theta, mean, self._options)
        self._last_upload = torch.full((len(self._sites.names),), -1)
        self._records: list[RoundRecord] = []
        self._log = SimilarityLog(len(self._sites.names))
        options = self._options.model_dump(mode="json", exclude_none=True)
        clients = len(self._sites.names) + config.late_clients
        resolved = {"clients": clients, "options": options, "data_options": data_options_of(config)}
        self.config = config.model_copy(update=resolved)

    def run(self, folder: RunFolder | None = None, on_round: OnRound | None = None) -> Result:
        """Every round that is left, then those who come late. Afterwards the ledgers are closed, and the study over."""
        with (
            cpu_threads(self.config.threads),
            self._protection.protector() as protector,
            closing(self._privacy),
            self._late or nullcontext(),
        ):
            for round_index in range(len(self._records), self.config.rounds):
                record = self._round(round_index, protector)
                self._records.append(record)
                if folder is not None:
                    folder.save_round(record, self._tensors())
                if on_round is not None:
                    on_round(record)
            late_clients = None if self._late is None else self._join(self._late, folder)
        result = self._result(late_clients)
        if folder is not None:
            folder.finish(result)
        return result

    def restore(self, records: Sequence[RoundRecord], tensors: dict[str, Tensor]) -> None:
        """Stand where a saved run stood. Its key is gone: what the server relays is sealed under a new one."""
        if not records:
            return
        self._records = list(records)
        for record in records:
            self._privacy.recall(record.round_index, self._study.cohort(record.round_index))
        self._theta_global = tensors.pop("theta_global").to(self._device)
        self._last_upload = tensors.pop("last_upload")
        self._log.matrix = tensors.pop("similarity").numpy()
        self._sites.state = tensors
        if not self._algorithm.relays_models:
            return
        for c, last in enumerate(self._last_upload.tolist()):
            if last >= 0:
                name, theta = self._sites.names[c], tensors["theta_personal"][c].numpy()
                blob = self._codec.seal(theta, study=self._study.name, round_index=last, sender=name)
                self._relayed[name] = SealedModel(sender=name, round_index=last, blob=blob)

    def _tensors(self) -> dict[str, Tensor]:
        kept = {"theta_global": self._theta_global.cpu(), "last_upload": self._last_upload}
        kept["similarity"] = torch.from_numpy(self._log.matrix)
        return {**self._sites.state, **kept}

    def _round(self, round_index: int, protector: Protector) -> RoundRecord:
        """Algorithm 1 with Algorithm 2 inside it, by messages."""
        start, clock = time.perf_counter(), Stopwatch()
        invitations = self._server.open_round(round_index)
        uploads = self._site_rounds(round_index, invitations, protector, clock)
        with clock.phase("aggregate"):
            outcome = self._server.close_round()
        with clock.phase("decrypt"):
            outcome = self._absorb(outcome)
        with clock.phase("evaluate"):
            personal, everywhere = self._evaluate(round_index)
        return RoundRecord(
            round_index=round_index,
            personal=personal,
            everywhere=everywhere,
            changed=bool(outcome.weights),
            weights=outcome.weights,
            traffic=Traffic.of(invitations, uploads, outcome),
            seconds=clock.seconds,
            total_seconds=time.perf_counter() - start,
            similarity=self._log.summary(),
            refusals=outcome.refusals,
        )

    def _absorb(self, outcome: RoundOutcome) -> RoundOutcome:
        """Take the global step. A sum that is not the claimed one leaves the sites where they were, and is named."""
        try:
            self._theta_global = absorb(self._theta_global, outcome, self._codec, self._study.name, self._step)
        except AggregateRejected as error:
            refusals = (*outcome.refusals, Refusal("server", f"its sum was rejected by the sites. {error}"))
            return replace(outcome, aggregate=None, weights=(), refusals=refusals)
        return outcome

    def _evaluate(self, round_index: int) -> tuple[Scores, Scores]:
        """Own models and the global one, every so many rounds and after the last; nothing in between."""
        rounds, every = self.config.rounds, self.config.evaluate_every
        if (round_index + 1) % every and round_index + 1 < rounds:
            return Scores.of([]), Scores.of([])
        return self._sites.evaluate(self._theta_global, round_index, self._group_size)

    def _site_rounds(
        self, round_index: int, invitations: Sequence[Invitation], protector: Protector, clock: Stopwatch
    ) -> list[RoundUpload]:
        """Every invited site's half, group by group; one group's uploads are encrypted while the next one trains."""
        names = self._sites.names
        position = {invitation.site: i for i, invitation in enumerate(invitations)}
        with clock.phase("decrypt"):
            owners, peers = self._peers(invitations)
        self._log = SimilarityLog(len(names))
        uploads = UploadQueue(self._server, clock)
        admitted, refusals = self._privacy.admit(round_index, [names.index(i.site) for i in invitations])
        for refusal in refusals:
            self._server.refuse(refusal.site, refusal.reason)
        for part in self._sites.groups(admitted, self._group_size):
            theirs = peers.of([position[names[c]] for c in part])
            group = self._sites.group(part, self._theta_global, round_index, theirs, clock)
            private = self._privacy.protect(group, part)
            result = run_round(self._algorithm, self._options, private, [names[c] for c in part])
            self._sites.keep(part, result)
            self._log.add(part, [names.index(name) for name in owners], result.contribution)
            for refusal in result.refusals:
                self._server.refuse(refusal.site, refusal.reason)
            with clock.phase("encrypt"):
                for answer in result.answers:
                    sent = self._tamper(answer, self._study.max_score)
                    uploads.put(answer.site, protector.submit(sent, self._study.name, round_index))
            uploads.accept_finished()
        uploads.accept_all()
        for upload in uploads.accepted:
            self._last_upload[names.index(upload.site)] = round_index
        return uploads.accepted

    def _peers(self, invitations: Sequence[Invitation]) -> tuple[tuple[SiteId, ...], Peers]:
        if not self._algorithm.relays_models:
            return (), Peers.nobody(len(invitations), self._sites.theta_initial)
        owners, peers, refusals = open_peers(invitations, self._sites.theta_initial, self._codec, self._study.name)
        for refusal in refusals:
            self._server.refuse(refusal.site, refusal.reason)
        return owners, peers

    def _join(self, late: LateSites, folder: RunFolder | None) -> dict[str, Any]:
        """Late sites join once: a run that had ended knows how they did."""
        known = None if folder is None else folder.late_clients()
        return known or late.join(self._theta_global, self._relayed, self._codec, self._group_size)

    def _result(self, late_clients: dict[str, Any] | None) -> Result:
        config = self.config
        facts = {
            "method": config.method,
            "dataset": config.dataset,
            "source": self._federation.source,
            "partition": self._federation.partition,
            "preparation": self._federation.preparation,
            "clients": len(self._sites.names),
            "client_names": list(self._sites.names),
            "client_rows": list(self._sites.sizes),
            "rounds": config.rounds,
            "seed": config.seed,
            "protection": config.protection,
            "device": str(self._device),
            "versions": versions(),
        }
        return Result(
            facts=facts,
            parameters=self._sites.theta_initial.numel(),
            rounds=tuple(self._records),
            similarity_matrix=self._log.to_json(),
            privacy=self._privacy.summary(),
            late_clients=late_clients,
        )


def data_options_of(config: Config) -> dict[str, Any]:
    """A private study prepares rows without learning from them where the dataset knows how, unless told otherwise."""
    return {**({} if config.dp_epsilon is None else private_options(config.dataset)), **config.data_options}


def federation_of(config: Config, progress: Progress = no_progress) -> Federation:
    """The clients a configuration asks for; ``progress`` hears of a download, should one be needed."""
    return build_federation(
        config.dataset,
        clients=config.clients,
        partition=config.partition,
        kappa=config.kappa,
        seed=config.seed,
        data_dir=config.data_dir,
        options=data_options_of(config),
        label=config.label,
        group=config.group,
        rows=config.rows,
        clusters=config.clusters,
        progress=progress,
    )
