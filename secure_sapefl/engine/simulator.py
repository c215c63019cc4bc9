"""Runs the protocol in one process: the server and every site, message by message, as a network would.

Server and sites meet only through `protocol/`. In an encrypted run the server object is built from public parameters
and is handed frames, sealed models and names; the key stays with the sites (`key_holders.py`). Whoever wants to watch
is an observer (`events.py`).
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from secure_sapefl.config import Config
from secure_sapefl.data import Federation, frame_columns
from secure_sapefl.engine.assembly import Assembly, assemble, federation_of
from secure_sapefl.engine.device import cpu_threads
from secure_sapefl.engine.events import (
    SERVER,
    MessageSent,
    Observer,
    RoundBegun,
    RoundClosed,
    RunBegun,
    RunEnded,
    RunEvent,
    TrainingEnded,
    tell,
)
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.key_holders import KeyHolders
from secure_sapefl.engine.late import LateSites
from secure_sapefl.engine.observers.notebook import in_a_notebook
from secure_sapefl.engine.observers.similarity_log import SimilarityLog
from secure_sapefl.engine.protection import Protection, with_one_key
from secure_sapefl.engine.ranks import ALONE, Ranks, require_divisible
from secure_sapefl.engine.result import Leg, Result, RoundRecord, Traffic
from secure_sapefl.engine.run_folder import RunFolder, Saved, config_of, identity_of, saved_in
from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.engine.stopping import BestRound, Stopping
from secure_sapefl.engine.uploads import Elsewhere, UploadQueue
from secure_sapefl.engine.workers import Protector
from secure_sapefl.models.base import Build
from secure_sapefl.protocol.messages import SealedModel, SiteId
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.storage.chain import Head
from secure_sapefl.tasks.base import Task

OnRound = Callable[[RoundRecord], None]


def simulate(
    config: Config,
    out: Path | str | None = None,
    on_round: OnRound | None = None,
    federation: Federation | None = None,
    *,
    table: Any = None,
    model: Build | None = None,
    task: Task | None = None,
    observers: Sequence[Observer] = (),
    ranks: Ranks = ALONE,
) -> Result:
    """Run a study from the start. With ``out``, everything is saved there and a killed run can be resumed.

    The data is what ``config`` names, unless a ``federation`` is given, or a ``table``: a pandas frame whose columns
    ``config`` names. So are the model, unless a function that builds a ``model`` is given, and the task, unless a
    ``task`` is. ``observers`` are told every event of the run. ``on_round`` is
    deprecated: an observer that looks for `RoundClosed` hears the same, and more. In a notebook a bar shows how far the
    run is. ``ranks`` are the processes that share the work, each of which calls this; the first one saves.
    """
    require_divisible(config, ranks)
    observers = (*in_a_notebook(), *observers, *_deprecated(on_round))
    columns = None if table is None else frame_columns(table)
    federation = federation or federation_of(config, task=task, table=columns)
    simulation = Simulation(assemble(config, federation, model, task), ranks=ranks)
    if out is None or not ranks.first:
        return simulation.run(observers=observers)
    identity = Identity.from_federation(federation, simulation.config, simulation.assembly.blueprint.sources)
    with RunFolder.create(Path(out), simulation.config, identity) as folder:
        return simulation.run(folder, observers)


def resume(
    out: Path | str,
    on_round: OnRound | None = None,
    federation: Federation | None = None,
    *,
    model: Build | None = None,
    task: Task | None = None,
    observers: Sequence[Observer] = (),
    ranks: Ranks = ALONE,
) -> Result:
    """Go on after the last whole round of a run that was stopped, with the data and the model it was begun with.

    A run that was begun with a ``federation``, a ``model`` or a ``task`` of its own needs the same one again. The rest
    is as for `simulate`; a run may go on with other ``ranks`` than it was begun with.
    """
    out, observers = Path(out), (*in_a_notebook(), *observers, *_deprecated(on_round))
    with RunFolder.reopen(out) if ranks.first else nullcontext() as folder:
        config, identity = ranks.from_first(lambda: (config_of(out), identity_of(out)))
        require_divisible(config, ranks)
        identity.check_settings(out, config)
        federation = federation or federation_of(config, task=task)
        identity.check_rows(out, federation)
        assembly = assemble(config, federation, model, task)
        identity.check_sources(out, assembly.blueprint.sources)
        simulation = Simulation(assembly, ranks=ranks)
        simulation.stand_where(ranks.from_first(lambda: saved_in(cast(RunFolder, folder), assembly.blueprint.model)))
        return simulation.run(folder, observers)


def _deprecated(on_round: OnRound | None) -> tuple[Observer, ...]:
    if on_round is None:
        return ()
    message = "on_round will go: pass observers=[...] instead, whose RoundClosed event has the same record."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return (lambda event: on_round(event.record) if isinstance(event, RoundClosed) else None,)


class Simulation:
    """One study: who takes part, what they hold, and the round, written once for every method."""

    def __init__(self, assembly: Assembly, protection: Protection | None = None, ranks: Ranks = ALONE) -> None:
        """``protection`` is the one the study asks for, unless another is given (of sites that lie, say)."""
        self.config, self.assembly, self._study = assembly.blueprint.config, assembly, assembly.blueprint.study
        self.protection = protection or with_one_key(assembly.protection(), ranks)
        self._privacy, codec, self._ranks = assembly.privacy(), self.protection.codec(), ranks
        self.key_holders = KeyHolders(assembly, codec, self._privacy, ranks)
        self._late = None if assembly.late is None else LateSites(assembly, assembly.late, self.protection)
        self._relayed: dict[SiteId, SealedModel] = {}
        self._rounds = self.protection.rounds(self._study, self._relayed)
        self.server = self._rounds.server
        self._records: list[RoundRecord] = []
        self._log = SimilarityLog(self._study.sites)
        self._observers: tuple[Observer, ...] = ()
        self._stopping = Stopping(assembly.blueprint.task.metrics[0], self.config.early_stopping)
        self.best: BestRound | None = None

    def run(self, folder: RunFolder | None = None, observers: Sequence[Observer] = ()) -> Result:
        """Every round that is left, then those who come late. Afterwards the ledgers are closed, and the study over."""
        self._observers = (self._log.hear, *([] if self._late is None else [self._late.hear]), *observers)
        with (
            cpu_threads(self.config.threads),
            self.protection.protector() as protector,
            closing(self._privacy),
            self._late or nullcontext(),
        ):
            self._tell(RunBegun(config=self.config, study=self._study, so_far=self._so_far(), plan=self._plan()))
            while len(self._records) < self.config.rounds and not self._stopping.over(self._records):
                record = self._round(len(self._records), protector)
                self._records.append(record)
                self._keep_if_best(folder)
                if folder is not None:
                    folder.save_ledger_heads(self._privacy.ledger_heads())
                    folder.save_round(record, self.tensors())
                self._tell(RoundClosed(record=record, similarity_matrix=self._log.to_json()))
            self._use_best(folder)
            theta_global = self.key_holders.theta_global.cpu().clone()
            self._tell(TrainingEnded(theta_global=theta_global, models=dict(self._relayed)))
            models = self._models()
        late_clients = None if self._late is None else self._late.outcome
        result = replace(self._so_far(), privacy=self._privacy.summary(), late_clients=late_clients, models=models)
        if folder is not None:
            folder.finish(result)
        self._tell(RunEnded(result=result))
        return result

    def _keep_if_best(self, folder: RunFolder | None) -> None:
        if self._stopping.is_best(self._records):
            self.best = BestRound.copied(self.tensors(), self.key_holders.scored)
            if folder is not None:
                folder.save_best(self.best)

    def _use_best(self, folder: RunFolder | None) -> None:
        """Stand where the sites stood after the best round, where validation rows decide which that is."""
        if self.best is None:
            return
        tensors = {name: rows.clone() for name, rows in self.best.tensors.items()}
        self._log.matrix = tensors.pop("similarity").numpy()
        self._relayed |= {model.sender: model for model in self.key_holders.restore(tensors)}
        self.key_holders.scored = dict(self.best.scored)
        if folder is not None:
            folder.save_tensors(self._records[-1].round_index, self.tensors())

    def stand_where(self, saved: Saved) -> None:
        """Stand where a saved run stood."""
        self.require_ledgers(saved.ledger_heads)
        self.restore(saved.records, saved.tensors, saved.late_clients)
        self.recall(saved.models)
        self.best = saved.best

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
        self._log.matrix = tensors.pop("similarity").numpy()
        self._relayed |= {model.sender: model for model in self.key_holders.restore(tensors)}

    def recall(self, scored: Mapping[SiteId, Tensor]) -> None:
        """The models of a saved run that has ended."""
        self.key_holders.scored |= {site: scored[site] for site in self._study.sites if site in scored}
        if self._late is not None:
            self._late.scored |= {site: theta for site, theta in scored.items() if site not in self._study.sites}

    def _models(self) -> ScoredModels:
        """Of the last evaluation; a run that was stopped right after its last round makes it again."""
        if not self.key_holders.scored:
            self.key_holders.evaluate(self.config.rounds - 1)
        late = {} if self._late is None else self._late.scored
        federations = (self.assembly.federation, *(() if self.assembly.late is None else (self.assembly.late,)))
        return ScoredModels.from_federations(
            self.assembly.blueprint.model,
            federations,
            {**self.key_holders.scored, **late},
            self.assembly.blueprint.task.name,
        )

    def tensors(self) -> dict[str, Tensor]:
        return {**self.key_holders.tensors(), "similarity": torch.from_numpy(self._log.matrix)}

    def _plan(self) -> tuple[str, ...]:
        return () if self.assembly.shared is None else self.assembly.shared.plan.sentences()

    def _so_far(self) -> Result:
        return Result(
            facts=self.assembly.facts(),
            parameters=self.assembly.blueprint.model.parameters,
            rounds=tuple(self._records),
            similarity_matrix=self._log.to_json(),
            metrics=self.assembly.blueprint.task.metrics,
            used=self._stopping.used(self._records),
        )

    def _leg(self) -> Leg:
        """A site's part in the committee's legs of the round, on average over all sites."""
        traffic, sites = self._rounds.traffic, len(self._study.sites)
        return Leg(up=traffic.up / sites, down=traffic.down / sites)

    def _tell(self, event: RunEvent) -> None:
        tell(self._observers, event)

    def _round(self, round_index: int, protector: Protector) -> RoundRecord:
        """Algorithm 1 with Algorithm 2 inside it, by messages."""
        start, clock = time.perf_counter(), Stopwatch()
        with clock.phase("encrypt"):
            invitations = self._ranks.from_first(lambda: self._rounds.open(round_index, self._observers))
        self._tell(RoundBegun(round_index=round_index, sites=tuple(one.site for one in invitations)))
        for invitation in invitations:
            self._tell(MessageSent(sender=SERVER, recipients=(invitation.site,), message=invitation))
        uploads = UploadQueue(self.server, clock, self._observers) if self._ranks.first else Elsewhere()
        self.key_holders.answer(round_index, invitations, protector, uploads, clock, self._observers)
        with clock.phase("aggregate"):
            outcome = self._ranks.from_first(lambda: self._rounds.close(self._observers))
        self._tell(MessageSent(sender=SERVER, recipients=self._study.sites, message=outcome))
        with clock.phase("decrypt"):
            outcome = self.key_holders.absorb(outcome, self._observers)
        with clock.phase("evaluate"):
            personal, everywhere = self.key_holders.evaluate(round_index)
        record = partial(
            RoundRecord,
            round_index=round_index,
            personal=personal,
            everywhere=everywhere,
            changed=bool(outcome.weights),
            weights=outcome.weights,
            seconds=clock.seconds,
            total_seconds=time.perf_counter() - start,
            similarity=self._log.summary(),
            refusals=outcome.refusals,
            validation=self.key_holders.validation,
        )
        sent = uploads.accepted
        return self._ranks.from_first(
            lambda: record(traffic=Traffic.from_messages(invitations, sent, outcome, self._leg()))
        )
