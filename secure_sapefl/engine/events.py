"""What a simulation tells its observers: frozen events, in the order in which things happen.

An observer is a function of one event. It is called in the run's own thread; an exception it raises ends the run, which
can be resumed after the last saved round. Observers stand where nobody stands in a deployed study, on the wire and
inside every site at once: they are for research, progress and audits. Tensors in an event are to be read, not written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.config import Config
from secure_sapefl.engine.result import Result, RoundRecord
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.study import Study

SERVER: Final = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegun:
    """Before the first round, or the first one that is left. ``so_far`` has the rounds of a run that is resumed."""

    config: Config
    study: Study
    so_far: Result
    plan: tuple[str, ...] = ()  # what was decided for the study before any record was read, in sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBegun:
    """The server has drawn the sites of a round."""

    round_index: int
    sites: tuple[SiteId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent:
    """A message on its way, as it would pass over a network: protected, if the study is."""

    sender: SiteId  # or `SERVER`
    recipients: tuple[SiteId, ...]
    message: Invitation | RoundUpload | RoundOutcome | Duty | Deed


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesTrained:
    """What a group of sites got out of its half of a round, before it is protected; row g is of site g."""

    round_index: int
    sites: tuple[SiteId, ...]
    peers: tuple[SiteId, ...]  # whose models were at hand; the columns of similarities
    contribution: Contribution


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateOpened:
    """The sites have decrypted the round's sum and taken the global step. A sum they reject is not opened."""

    round_index: int
    theta_global: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundClosed:
    """A round is over, evaluated, and saved where the run is saved."""

    record: RoundRecord
    similarity_matrix: list[list[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEnded:
    """After the last round: the global model, and the sealed models the server has to relay."""

    theta_global: Tensor
    models: Mapping[SiteId, SealedModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """Everything is done, late sites included."""

    result: Result


RunEvent = RunBegun | RoundBegun | MessageSent | SitesTrained | AggregateOpened | RoundClosed | TrainingEnded | RunEnded
Observer = Callable[[RunEvent], None]


def tell(observers: Iterable[Observer], event: RunEvent) -> None:
    for observer in observers:
        observer(event)
