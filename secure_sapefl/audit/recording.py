"""A run with its messages recorded: all that server and sites hand each other, as it passes.

A simulated run is deterministic, so an audit runs it again from its configuration instead of asking every run to keep
its messages. Whoever listens is an observer of the run and stands outside the server, so that the search for a key in
the server's reach does not find the listeners'.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from torch import Tensor

from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import Assembly, assemble
from secure_sapefl.engine.events import MessageSent, RoundBegun, RoundClosed, RunEvent
from secure_sapefl.engine.protection import Protection
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.models.base import Model
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload
from secure_sapefl.protocol.server import AdderFactory
from secure_sapefl.protocol.study import Study
from secure_sapefl.tasks.base import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundMessages:
    """Everything that passed between the server and the sites in one round."""

    invitations: tuple[Invitation, ...]
    uploads: tuple[RoundUpload, ...]
    outcome: RoundOutcome
    seconds: tuple[float, ...]  # of processor time between an upload and the one before; a site's own where it is alone


class Listener(Protocol):
    def hear(self, messages: RoundMessages) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTerms:
    """What everybody knows: the study, its model, its seed and so where everybody started."""

    study: Study
    params: ExactPlan
    model: Model
    undrawn: Model  # the same as an attacker computes with it: nobody knows what was dropped
    task: Task
    algorithm: Algorithm
    options: Any
    theta_initial: Tensor  # [P], and behind it whatever else a method's sites hold in common
    new_adder: AdderFactory

    @classmethod
    def from_simulation(cls, simulation: Simulation) -> "PublicTerms":
        blueprint, theta_initial = simulation.assembly.blueprint, simulation.assembly.sites.theta_initial
        return cls(
            study=blueprint.study,
            params=simulation.protection.params,
            model=blueprint.model,
            undrawn=_undrawn(blueprint.model),
            task=blueprint.task,
            algorithm=blueprint.algorithm,
            options=blueprint.options,
            theta_initial=blueprint.algorithm.initial_global(theta_initial, blueprint.options).cpu().clone(),
            new_adder=simulation.protection.adders(blueprint.study),
        )

    @property
    def whole_updates(self) -> bool:
        """An update covers the whole model; where it leaves out the head, it makes no model that answers."""
        return self.study.parameters >= self.model.parameters

    def step(self, theta_global: Tensor, mean: Tensor) -> Tensor:
        return self.algorithm.global_step(theta_global, mean, self.options)


def _undrawn(model: Model) -> Model:
    return model.undrawn if isinstance(model, ModuleModel) and model.draws else model


class Recorder:
    """Collects a round's messages as they pass, and hands them to its listeners when the round is closed."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = listeners

    def hear(self, event: RunEvent) -> None:
        match event:
            case RoundBegun():
                self._invitations: list[Invitation] = []
                self._uploads: list[RoundUpload] = []
            case MessageSent(message=Invitation() as message):
                self._invitations.append(message)
                self._arrivals = [time.process_time()]
            case MessageSent(message=RoundUpload() as message):
                self._uploads.append(message)
                self._arrivals.append(time.process_time())
            case MessageSent(message=RoundOutcome() as message):
                self._outcome = message
            case RoundClosed():
                self._hand_over()

    def _hand_over(self) -> None:
        messages = RoundMessages(
            invitations=tuple(self._invitations),
            uploads=tuple(self._uploads),
            outcome=self._outcome,
            seconds=tuple(after - before for before, after in pairwise(self._arrivals)),
        )
        for listener in self._listeners:
            listener.hear(messages)


def judged_at_the_end(config: Config) -> Config:
    """Evaluations in between take time and change nothing, unless training stops by them."""
    return config.model_copy(update={} if config.early_stopping else {"evaluate_every": config.rounds})


class RecordedRun:
    """A run whose every round is told to listeners. It never touches the ledgers of the run it repeats. ``protection``
    is the study's own, unless sites are to lie."""

    def __init__(
        self,
        config: Config,
        federation: Federation,
        protection: Callable[[Assembly], Protection] = Assembly.protection,
    ) -> None:
        assembly = assemble(config.model_copy(update={"dp_ledgers": None}), federation)
        self.protection = protection(assembly)
        self._simulation = Simulation(assembly, self.protection)
        self.config, self.server = self._simulation.config, self._simulation.server
        self.terms = PublicTerms.from_simulation(self._simulation)

    @property
    def key_holder(self) -> SiteCodec:
        """What a site can do."""
        return self._simulation.protection.codec()

    def run(self, *listeners: Listener) -> Result:
        return self._simulation.run(observers=[Recorder(listeners).hear])
