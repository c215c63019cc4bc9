"""Whether a method's private form keeps what it says in its `releases`: what leaves reads records in no other way.

A round is run twice, on records that have nothing in common, with mechanisms that let nothing of them through: a
clip so small that no gradient is left of them, and answers about all records that are always the same. Declared numbers
of rows are the same as well. Whatever then differs in what leaves has read records past the mechanisms.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotPrivate, Releases
from secure_sapefl.conformance.rounds import Check
from secure_sapefl.conformance.sites import FourSites, leaving
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.streams import Purpose
from secure_sapefl.training.plan import Shard

_DECLARED: Final = (9, 6, 5, 2)  # rows, whatever sites have
_NOTHING: Final = 1e-12
_SAME: Final = 1e-5
_ROUNDS: Final = 2  # what is kept without noise may leave in the next


def declared(algorithm: Algorithm) -> Iterator[str]:
    """Everything that leaves is paid for by a training or a query, or said to be free."""
    releases = _releases(algorithm)
    paid = {one.pays_for for one in releases.trainings} | {one.pays_for for one in releases.queries}
    named = paid | set(releases.free)
    sent = leaving(FourSites().round(algorithm))
    for field in sent.keys() - named:
        yield f"{field} leaves, and no training or query of `releases` pays for it; nor is it in `free`"


def spent(algorithm: Algorithm) -> Iterator[str]:
    """What is paid for is used: a round spends no budget on nothing."""
    asked = _rounds(algorithm, FourSites())[1]
    for purpose in _steps(_releases(algorithm), 1).keys() - asked:
        yield f"`releases` pays for {purpose.name} in every round, and no round asks for it"


def hidden(algorithm: Algorithm) -> Iterator[str]:
    """What leaves reads records through group.private alone, and counts them as declared."""
    ours, theirs = (_rounds(algorithm, sites)[0] for sites in (FourSites(), _others()))
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True), start=1):
        for field, rows in leaving(left).items():
            other = leaving(right)[field]
            if not torch.allclose(rows, other, atol=_SAME, rtol=_SAME):
                apart = (rows - other).abs().max()
                yield (
                    f"{field} of round {number} tells of records past the mechanisms (by {apart:.2g}): make it by "
                    "group.train, train_averaged, gradient_steps or group.private"
                )


def _others() -> FourSites:
    """Other records, and other numbers of them, than `FourSites` has."""
    sites = FourSites(seed=12)
    sites.x, sites.sizes = 3 * sites.x - 1, (7, 5, 4, 1)
    return sites


@dataclass(frozen=True, slots=True)
class _Deaf(PrivateGroup):
    """Mechanisms that let nothing through, and remember what they were asked for."""

    asked: set[Purpose] | None = None

    def means(self, exact: Tensor, asked: Tensor, purpose: Purpose, record_norm: float | None = None) -> Tensor:  # noqa: ARG002
        self._payments(purpose)
        return torch.where(asked.to(exact.device), torch.full_like(exact, 0.5), torch.zeros_like(exact))

    def _payments(self, purpose: Purpose) -> list[Paid]:
        assert self.asked is not None
        self.asked.add(purpose)
        return PrivateGroup._payments(self, purpose)  # of the class this one is


def _rounds(algorithm: Algorithm, sites: FourSites) -> tuple[list[Contribution], set[Purpose]]:
    """Some rounds, each with what the one before left at the sites; and what was asked for in them."""
    asked: set[Purpose] = set()
    group, done = sites.ready(algorithm), []
    group = replace(group, shard=Shard(group.shard.x, group.shard.y, sites.starts, sites.sizes))
    for _ in range(_ROUNDS):
        contribution = algorithm.site_round(_behind(group, algorithm, asked), algorithm.options())
        done.append(contribution)
        group = replace(group, state=contribution.state)
    return done, asked


def _behind(group: SiteGroup, algorithm: Algorithm, asked: set[Purpose]) -> SiteGroup:
    releases, batch = _releases(algorithm), group.batch_size
    paid = tuple(_payments(_steps(releases, math.ceil(rows / batch)), min(1.0, batch / rows)) for rows in _DECLARED)

    def randomness(purpose: Purpose) -> list[KeyedRandomness]:
        return [KeyedRandomness(np.random.default_rng((g, purpose))) for g in range(group.size)]

    return replace(group, private=_Deaf(_DECLARED, paid, randomness, _NOTHING, asked))


def _payments(steps: Mapping[Purpose, int], sample_rate: float) -> dict[Purpose, Paid]:
    events = [
        Event(
            mechanism="gaussian",
            release="update",
            noise_multiplier=1.0,
            sample_rate=sample_rate,
            steps=count,
            round_index=0,
            study="conformance",
        )
        for count in steps.values()
    ]
    return dict(zip(steps, Ledger("a", Budget(1e99, 0.1)).charge(events), strict=True))


def _steps(releases: Releases, an_epoch: int) -> dict[Purpose, int]:
    """How often each purpose is paid for in a round."""
    steps = {training.purpose: training.epochs * an_epoch for training in releases.trainings}
    return steps | {query.purpose: 1 for query in releases.queries}


def _releases(algorithm: Algorithm) -> Releases:
    assert not isinstance(algorithm.releases, NotPrivate)
    return algorithm.releases(algorithm.options(), 2)


PRIVATE: Final[Mapping[str, Check]] = MappingProxyType({check.__name__: check for check in (declared, spent, hidden)})
