"""Runs the protocol in one process: the server and every site, message by message, as a network would.

Server and sites meet only through `protocol/`. In an encrypted run the server object is built from public parameters
and is handed frames, sealed models and names; the key stays with the sites' half of this file. Whoever wants to watch
is an observer (`events.py`).
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.algorithms.base import Peers
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import Assembly, assemble, federation_of
from secure_sapefl.engine.device import cpu_threads
from secure_sapefl.engine.events import (
    SERVER,
    AggregateOpened,
    MessageSent,
    Observer,
    RoundBegun,
    RoundClosed,
    RunBegun,
    RunEnded,
    RunEvent,
    SitesTrained,
    TrainingEnded,
    tell,
)
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.late import LateSites
from secure_sapefl.engine.protection import Protection
from secure_sapefl.engine.result import Result, RoundRecord, Traffic
from secure_sapefl.engine.run_folder import RunFolder, config_of, identity_of
from secure_sapefl.engine.similarity_log import SimilarityLog
from secure_sapefl.engine.uploads import UploadQueue
from secure_sapefl.engine.workers import Protector
from secure_sapefl.metrics import Scores
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.site import absorb, open_peers, run_round
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.storage.chain import Head

OnRound = Callable[[RoundRecord], None]


def simulate(
    config: Config,
    out: Path | None = None,
    on_round: OnRound | None = None,
    federation: Federation | None = None,
    *,
    observers: Sequence[Observer] = (),
) -> Result:
    """Run a study from the start. With ``out``, everything is saved there and a killed run can be resumed.

    The data is what ``config`` names, unless a ``federation`` is given. ``observers`` are told every event of the run.
    ``on_round`` is deprecated: an observer that looks for `RoundClosed` hears the same, and more.
    """
    observers = (*observers, *_deprecated(on_round))
    federation = federation or federation_of(config)
    simulation = Simulation(assemble(config, federation))
    if out is None:
        return simulation.run(observers=observers)
    with RunFolder.create(out, simulation.config, Identity.of(federation)) as folder:
        return simulation.run(folder, observers)


def resume(
    out: Path,
    on_round: OnRound | None = None,
    federation: Federation | None = None,
    *,
    observers: Sequence[Observer] = (),
) -> Result:
    """Go on after the last whole round of a run that was stopped, with the data it was begun with.

    A run that was begun with a ``federation`` of its own needs the same one again. The rest is as for `simulate`.
    """
    observers = (*observers, *_deprecated(on_round))
    with RunFolder.reopen(out) as folder:
        config = config_of(out)
        federation = federation or federation_of(config)
        identity_of(out).check_rows(out, federation)
        simulation = Simulation(assemble(config, federation))
        simulation.require_ledgers(folder.ledger_heads())
        simulation.restore(*folder.load(), folder.late_clients())
        return simulation.run(folder, observers)


def _deprecated(on_round: OnRound | None) -> tuple[Observer, ...]:
    if on_round is None:
        return ()
    message = "on_round will go: pass observers=[...] instead, whose RoundClosed event has the same record."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return (lambda event: on_round(event.record) if isinstance(event, RoundClosed) else None,)


class Simulation:
    """One study: who takes part, what they hold, and the round, written once for every method."""

    def __init__(self, assembly: Assembly, protection: Protection | None = None) -> None:
        """``protection`` is the one the study asks for, unless another is given (of sites that lie, say)."""
        self.config, self.assembly = assembly.blueprint.config, assembly
        self._algorithm, self._options = assembly.blueprint.algorithm, assembly.blueprint.options
        self._study, self._sites, self._group_size = assembly.blueprint.study, assembly.sites, assembly.group_size
        self.protection = protection or assembly.protection()
        self._privacy = assembly.privacy()
        self._codec = self.protection.codec()
        self._late = None if assembly.late is None else LateSites(assembly, assembly.late, self._codec)
        self._relayed: dict[SiteId, SealedModel] = {}
        self.server = Server(self._study, self.protection.adders(self._study), self._relayed)
        self._theta_global = self._algorithm.initial_global(self._sites.theta_initial, self._options)
        self._step = lambda theta, mean: self._algorithm.global_step(theta, mean, self._options)
        self._last_upload = torch.full((len(self._sites.names),), -1)
        self._records: list[RoundRecord] = []
        self._log = SimilarityLog(self._sites.names)
        self._observers: tuple[Observer, ...] = ()

    def run(self, folder: RunFolder | None = None, observers: Sequence[Observer] = ()) -> Result:
        """Every round that is left, then those who come late. Afterwards the ledgers are closed, and the study over."""
        self._observers = (self._log.hear, *([] if self._late is None else [self._late.hear]), *observers)
        with (
            cpu_threads(self.config.threads),
            self.protection.protector() as protector,
            closing(self._privacy),
            self._late or nullcontext(),
        ):
            self._tell(RunBegun(config=self.config, study=self._study, so_far=self._so_far()))
            for round_index in range(len(self._records), self.config.rounds):
                record = self._round(round_index, protector)
                self._records.append(record)
                if folder is not None:
                    folder.save_ledger_heads(self._privacy.ledger_heads())
                    folder.save_round(record, self._tensors())
                self._tell(RoundClosed(record=record, similarity_matrix=self._log.to_json()))
            self._tell(TrainingEnded(theta_global=self._theta_global.cpu().clone(), models=dict(self._relayed)))
        late_clients = None if self._late is None else self._late.outcome
        result = replace(self._so_far(), privacy=self._privacy.summary(), late_clients=late_clients)
        if folder is not None:
            folder.finish(result)
        self._tell(RunEnded(result=result))
        return result

    def require_ledgers(self, known: Mapping[SiteId, Head]) -> None:
        """Refuse to go on with privacy ledgers that have forgotten what this run has seen in them."""
        self._privacy.require_ledgers(known)

    def restore(
        self,
        records: Sequence[RoundRecord],
        tensors: dict[str, Tensor],
        late_clients: Mapping[str, Any] | None = None,
    ) -> None:
        """Stand where a saved run stood. Its key is gone: what the server relays is sealed under a new one."""
        if self._late is not None:
            self._late.outcome = late_clients
        if not records:
            return
        self._records = list(records)
        for record in records:
            self._privacy.recall(record.round_index, self._study.cohort(record.round_index))
        self._theta_global = tensors.pop("theta_global").to(self.assembly.device)
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

    def _so_far(self) -> Result:
        return Result(
            facts=self.assembly.facts(),
            parameters=self._sites.theta_initial.numel(),
            rounds=tuple(self._records),
            similarity_matrix=self._log.to_json(),
        )

    def _tell(self, event: RunEvent) -> None:
        tell(self._observers, event)

    def _round(self, round_index: int, protector: Protector) -> RoundRecord:
        """Algorithm 1 with Algorithm 2 inside it, by messages."""
        start, clock = time.perf_counter(), Stopwatch()
        invitations = self.server.open_round(round_index)
        self._tell(RoundBegun(round_index=round_index, sites=tuple(one.site for one in invitations)))
        for invitation in invitations:
            self._tell(MessageSent(sender=SERVER, recipients=(invitation.site,), message=invitation))
        uploads = self._site_rounds(round_index, invitations, protector, clock)
        with clock.phase("aggregate"):
            outcome = self.server.close_round()
        self._tell(MessageSent(sender=SERVER, recipients=self._study.sites, message=outcome))
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
        before = self._theta_global
        try:
            self._theta_global = absorb(before, outcome, self._codec, self._study.name, self._step)
        except AggregateRejected as error:
            refusals = (*outcome.refusals, Refusal(SERVER, f"its sum was rejected by the sites. {error}"))
            return replace(outcome, aggregate=None, weights=(), refusals=refusals)
        if outcome.aggregate is not None:
            theta_global = self._theta_global.cpu().clone()
            self._tell(AggregateOpened(round_index=outcome.round_index, theta_global=theta_global))
        return outcome if self._theta_global is not before else replace(outcome, weights=())

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
        uploads = UploadQueue(self.server, clock, self._observers)
        admitted, refusals = self._privacy.admit(round_index, [names.index(i.site) for i in invitations])
        self._refuse(refusals)
        for part in self._sites.groups(admitted, self._group_size):
            here = tuple(names[c] for c in part)
            theirs = peers.of([position[name] for name in here])
            group = self._sites.group(part, self._theta_global, round_index, theirs, clock)
            result = run_round(self._algorithm, self._options, self._privacy.protect(group, part), here)
            self._sites.keep(part, result)
            self._tell(
                SitesTrained(round_index=round_index, sites=here, peers=owners, contribution=result.contribution)
            )
            self._refuse(result.refusals)
            with clock.phase("encrypt"):
                for answer in result.answers:
                    uploads.put(answer.site, protector.submit(answer, self._study, round_index))
            uploads.accept_finished()
        uploads.accept_all()
        for upload in uploads.accepted:
            self._last_upload[names.index(upload.site)] = round_index
        return uploads.accepted

    def _refuse(self, refusals: Sequence[Refusal]) -> None:
        for refusal in refusals:
            self.server.refuse(refusal.site, refusal.reason)

    def _peers(self, invitations: Sequence[Invitation]) -> tuple[tuple[SiteId, ...], Peers]:
        if not self._algorithm.relays_models:
            return (), Peers.nobody(len(invitations), self._sites.theta_initial)
        owners, peers, refusals = open_peers(invitations, self._sites.theta_initial, self._codec, self._study.name)
        self._refuse(refusals)
        return owners, peers
