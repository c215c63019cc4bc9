"""A run with its messages recorded: all that server and sites hand each other, as it passes.

A simulated run is deterministic, so an audit runs it again from its configuration instead of asking every run to keep
its messages. What a recorded server remembers is messages alone: whoever listens stands outside it, so that the search
for a key in the server's reach does not find the listeners'.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

from torch import Tensor

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.engine.workers import Protector
from secure_sapefl.models import Model, build_model
from secure_sapefl.protocol.codec import Codec
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload
from secure_sapefl.protocol.server import AdderFactory, Server
from secure_sapefl.protocol.study import Study


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
    params: Parameters
    model: Model
    algorithm: Algorithm
    options: Any
    theta_initial: Tensor  # [P], and behind it whatever else a method's sites hold in common
    new_adder: AdderFactory

    @property
    def whole_updates(self) -> bool:
        """An update covers the whole model; where it leaves out the head, it makes no model that answers."""
        return self.study.parameters >= self.model.parameters

    def step(self, theta_global: Tensor, mean: Tensor) -> Tensor:
        return self.algorithm.global_step(theta_global, mean, self.options)


class RecordedServer(Server):
    """The server as it is, and the messages of its current round."""

    def open_round(self, round_index: int) -> tuple[Invitation, ...]:
        self._uploads: list[RoundUpload] = []
        self._invitations = super().open_round(round_index)
        self._arrivals = [time.process_time()]
        return self._invitations

    def accept(self, upload: RoundUpload) -> bool:
        self._uploads.append(upload)
        self._arrivals.append(time.process_time())
        return super().accept(upload)

    def close_round(self) -> RoundOutcome:
        outcome = super().close_round()
        self.messages = RoundMessages(
            invitations=self._invitations,
            uploads=tuple(self._uploads),
            outcome=outcome,
            seconds=tuple(after - before for before, after in pairwise(self._arrivals)),
        )
        return outcome


class RecordedSimulation(Simulation):
    """A run whose every round is told to listeners. It never touches the ledgers of the run it repeats."""

    def __init__(self, config: Config, federation: Federation) -> None:
        super().__init__(config.model_copy(update={"dp_ledgers": None}), federation)
        self.recorded = RecordedServer(self._study, self._protection.adders(self._study), self._relayed)
        self._server = self.recorded
        self._listeners: Sequence[Listener] = ()

    @cached_property
    def terms(self) -> PublicTerms:
        return PublicTerms(
            study=self._study,
            params=self._protection.params,
            model=build_model(self._federation.shape, self._federation.classes, self.config.model),
            algorithm=self._algorithm,
            options=self._options,
            theta_initial=self._theta_global.cpu().clone(),
            new_adder=self._protection.adders(self._study),
        )

    @property
    def key_holder(self) -> Codec:
        """What a site can do."""
        return self._codec

    def tell(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def _round(self, round_index: int, protector: Protector) -> RoundRecord:
        record = super()._round(round_index, protector)
        for listener in self._listeners:
            listener.hear(self.recorded.messages)
        return record
