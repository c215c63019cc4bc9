"""What a group of sites gets out of a round or an evaluation, as the ranks of a simulation tell each other."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from sapefl_crypto.errors import CryptoError
from secure_sapefl.engine.observers.similarity_log import MOST_SITES
from secure_sapefl.metrics import Array
from secure_sapefl.protocol.messages import RoundUpload, SiteId
from secure_sapefl.protocol.site import GroupRound
from secure_sapefl.streams import Purpose
from secure_sapefl.training.optimizer import Moments

Outputs = tuple[Array, Array]
"""What a model answers to a site's test rows, and their labels."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A group's half of a round, with what its sites send on its way to the server."""

    part: list[int]
    result: GroupRound
    memory: Mapping[Purpose, Moments] | None
    uploads: Sequence[tuple[SiteId, Future[RoundUpload]]] = field(default=())

    def for_all(self) -> object:
        """What sites keep, and what is logged of them, in main memory. What leaves a site is for the server."""
        made = self.result.contribution
        logged = {name: one for name, one in made.statistics.items() if one.dim() < 2 or one.shape[1] <= MOST_SITES}
        kept = replace(made, state=_here(made.state), statistics=_here(logged))
        result = replace(self.result, contribution=replace(kept, update=None, score=None, shared=None), answers=())
        memory = None if self.memory is None else {purpose: one.to("cpu") for purpose, one in self.memory.items()}
        return self.part, result, memory

    def for_first(self) -> object:
        """Uploads, and the scores that the run's log sums up."""
        score = self.result.contribution.score
        return None if score is None else score.cpu(), [(site, _settled(upload)) for site, upload in self.uploads]

    @classmethod
    def heard(cls, for_all: Any, for_first: Any) -> "Trained":
        part, result, memory = for_all
        score, uploads = for_first or (None, ())
        result = replace(result, contribution=replace(result.contribution, score=score))
        return cls(part, result, memory, [(site, _promised(upload)) for site, upload in uploads])


def _here(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: values.cpu() for name, values in tensors.items()}


def _settled(upload: Future[RoundUpload]) -> RoundUpload | str:
    """The upload, or why the site refused to send it."""
    try:
        return upload.result()
    except CryptoError as error:
        return str(error)


def _promised(upload: RoundUpload | str) -> Future[RoundUpload]:
    done: Future[RoundUpload] = Future()
    if isinstance(upload, str):
        done.set_exception(CryptoError(upload))
    else:
        done.set_result(upload)
    return done


@dataclass(frozen=True, slots=True)
class Judged:
    """Own models and the global one at the sites of a group."""

    part: list[int]
    own: list[Outputs]
    everywhere: list[Outputs]
    models: Tensor | None  # [G, P], in main memory, where somebody keeps them

    def rows(self) -> Iterator[tuple[int, Outputs, Outputs, Tensor | None]]:
        models = [None] * len(self.part) if self.models is None else self.models
        return zip(self.part, self.own, self.everywhere, models, strict=True)

    def for_all(self) -> object:
        return self.part, self.own, self.everywhere, self.models

    def for_first(self) -> object:
        return None

    @classmethod
    def heard(cls, for_all: Any, for_first: object) -> "Judged":  # noqa: ARG003 - all ranks know everything
        return cls(*for_all)
