"""What of a site's records leaves it in a round, said by the method itself, so that somebody can pay for it.

A method names each training whose result leaves (through `SiteGroup.train` or its own `gradient_steps`), and each
question it asks about all records at once. What stays at the site (Ditto's personal model, a fine-tuned copy) needs no
noise. A method that reads records in any other way says why it has no private form.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from torch import Tensor

from secure_sapefl.config import Settings
from secure_sapefl.models.base import Model
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Objective
from secure_sapefl.training.optimizer import Pace
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.steps import Step


@dataclass(frozen=True, slots=True)
class PrivateTraining:
    """A training whose result leaves the site in the message field ``pays_for``."""

    purpose: Purpose
    pays_for: str
    epochs: int


@dataclass(frozen=True, slots=True)
class PrivateQuery:
    """Means over all records whose consequences leave the site in the message field ``pays_for``."""

    purpose: Purpose
    pays_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """``free`` are message fields that cost nothing: constants a site declares, such as n_c, or what follows from its
    other releases."""

    trainings: tuple[PrivateTraining, ...] = ()
    queries: tuple[PrivateQuery, ...] = ()
    free: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotPrivate:
    reason: str


NO_PRIVATE_FORM: Final = NotPrivate("nobody has worked one out for this method.")


@dataclass(frozen=True, slots=True)
class NotShared:
    """Why a method cannot make do with noised sums of gradients at one common model."""

    reason: str


NO_SHARED_FORM: Final = NotShared("nobody has worked out how it would use noised sums alone.")


def nothing(_: Settings, __: int) -> Releases:
    """All stays at the site."""
    return Releases(notes=("Nothing leaves a site, so nothing is spent and training is not noised.",))


def one_update(_: Settings, local_epochs: int) -> Releases:
    """One training, summed with the declared number of rows as its weight."""
    return Releases(
        trainings=(PrivateTraining(Purpose.LOCAL_BATCHES, "update", local_epochs),),
        free=("similarity_score",),
        notes=("The weight of an update is the number of rows a site declares, a constant.",),
    )


class PrivateUse(Protocol):
    """A group's records in a private study: everything that leaves is made here, and was paid for before."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The number of training rows each site declares, n_c: public, and not counted."""

    def train(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, pace: Pace
    ) -> Tensor:
        """DP-SGD; as many steps as were paid for. What is made of a noised gradient costs nothing."""

    def epochs(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, pace: Pace, count: int
    ) -> Iterator[Tensor]:
        """The same, and the models after each of ``count`` epochs: all of them, and any mean of them, may leave."""

    def steps(self, model: Model, shard: Shard, purpose: Purpose) -> Iterator[tuple[int, Step]]:
        """As many noised steps of the method's own as were paid for: (active sites, step)."""

    def means(self, exact: Tensor, asked: Tensor, purpose: Purpose, record_norm: float | None = None) -> Tensor:
        """Sums over records of values in [0, 1], divided by `rows`; noised where ``asked``, both [G, J].

        ``record_norm`` is the largest L2 norm of what one record brings; sqrt(J) where not given.
        """

    def squared_norms(self, theta: Tensor, model: Model, shard: Shard, purpose: Purpose) -> Tensor:
        """The sum over a site's records of min(1, |grad of the record's loss|^2 / clip^2) by n_c, noised, [G]."""
