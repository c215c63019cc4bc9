"""No record reaches a message but through a mechanism: shown for every method by making the mechanisms deaf.

Here every mechanism answers without looking at records. Whatever a method sends must then be the same, bit by bit,
whatever the records are; and with mechanisms that listen it must not be. That the mechanisms themselves are private is
shown in tests/privacy.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.models.base import Model
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Batch, Objective
from secure_sapefl.training.plan import Shard

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "sapefl": [{}, {"anchoring": "proximal"}, {"personal_start": "personal"}, {"output_form": "flattened"}],
    "sapefl-plus": [{}, {"similarity": "raw"}, {"start": "local"}, {"start": "peers"}, {"weigh_rows": False}],
    "perfedavg": [{}, {"order": "hessian-free"}],
}
CASES = [
    pytest.param(method, options, id=f"{method}{options or ''}")
    for method in ALGORITHMS
    for options in OPTIONS.get(method, [{}])
]


@dataclass(frozen=True)
class DeafStep:
    active: int

    def gradient(self, theta: Tensor) -> Tensor:
        return 0.01 * theta.cos()

    def difference(self, ahead: Tensor, behind: Tensor, apart: float) -> Tensor:
        return apart * (ahead - behind).sin()


class Deaf:
    """`PrivateUse` that answers from weights and declared sizes alone, and remembers what it was asked for."""

    rows = (9, 5, 5, 1)

    def __init__(self) -> None:
        self.asked: list[Purpose] = []
        self.objectives: list[tuple[Objective, Model]] = []
        self.exact: list[Tensor] = []

    def train(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, lr: float
    ) -> Tensor:
        self.asked.append(purpose)
        self.objectives.append((objective, model))
        return theta + 0.01 * (theta + purpose).cos()

    def epochs(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, lr: float, count: int
    ) -> Iterator[Tensor]:
        self.asked.append(purpose)
        self.objectives.append((objective, model))
        return iter([theta + 0.01 * epoch for epoch in range(count)])

    def steps(self, model: Model, shard: Shard, purpose: Purpose) -> Iterator[tuple[int, DeafStep]]:
        self.asked.append(purpose)
        for t in range(6):  # 2 epochs of batches of 4 at sites of 9, 5, 5 and 1 rows
            active = sum(2 * -(-rows // 4) > t for rows in self.rows)
            yield active, DeafStep(active)

    def means(self, exact: Tensor, asked: Tensor, purpose: Purpose, record_norm: float | None = None) -> Tensor:
        self.asked.append(purpose)
        self.exact.append(exact * asked)
        places = torch.arange(exact.numel()).view_as(exact)
        return (0.5 + 0.3 * (places + 1.0).sin()) * asked

    def squared_norms(self, theta: Tensor, model: Model, shard: Shard, purpose: Purpose) -> Tensor:
        self.asked.append(purpose)
        return torch.linspace(0.1, 0.9, len(shard))


def sent_over_two_rounds(four_sites: Any, method: Algorithm, options: Any, private: Deaf | None) -> list[Tensor]:
    """All that leaves, with what a site keeps carried from one round into the next."""
    state, sent = four_sites.state(method), []
    for _ in range(2):
        group: SiteGroup = four_sites.group(state)
        group = replace(group, theta_global=method.initial_global(group.theta_global, options), private=private)
        contribution = method.site_round(group, options)
        leaving = (contribution.update, contribution.score, contribution.shared)
        sent += [tensor for tensor in leaving if tensor is not None]
        state = contribution.state
    return sent


def with_other_records(four_sites: Any) -> Any:
    random = torch.Generator().manual_seed(99)
    four_sites.x = 3 * torch.randn(four_sites.x.shape, generator=random)
    four_sites.y = torch.randint(3, four_sites.y.shape, generator=random)
    return four_sites


def with_other_numbers_of_records(four_sites: Any) -> Any:
    """More than declared, fewer, none at all."""
    four_sites.starts, four_sites.sizes = (0, 7, 13, 13), (7, 6, 0, 7)
    return with_other_records(four_sites)


@pytest.mark.parametrize(("method", "options"), CASES)
def test_records_reach_messages_through_the_mechanisms_alone(
    four_sites: Any, method: str, options: dict[str, Any]
) -> None:
    algorithm = ALGORITHMS[method]
    chosen = algorithm.options(**options)
    first = sent_over_two_rounds(four_sites, algorithm, chosen, Deaf())
    second = sent_over_two_rounds(with_other_records(four_sites), algorithm, chosen, Deaf())
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("method", "options"), CASES)
def test_the_number_of_records_reaches_no_message(four_sites: Any, method: str, options: dict[str, Any]) -> None:
    """What sites declare stays the same, what they have does not."""
    algorithm = ALGORITHMS[method]
    chosen = algorithm.options(**options)
    first = sent_over_two_rounds(four_sites, algorithm, chosen, Deaf())
    second = sent_over_two_rounds(with_other_numbers_of_records(four_sites), algorithm, chosen, Deaf())
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("method", "options"), CASES)
def test_without_privacy_what_leaves_depends_on_the_records(
    four_sites: Any, method: str, options: dict[str, Any]
) -> None:
    """So the test above can fail."""
    algorithm = ALGORITHMS[method]
    chosen = algorithm.options(**options)
    first = sent_over_two_rounds(four_sites, algorithm, chosen, None)
    second = sent_over_two_rounds(with_other_records(four_sites), algorithm, chosen, None)
    assert bool(first) == (method != "local")
    assert not first or not torch.equal(first[-1], second[-1]) or not torch.equal(first[0], second[0])


@pytest.mark.parametrize(("method", "options"), CASES)
def test_mechanisms_are_asked_for_what_the_method_declares_once_a_round(
    four_sites: Any, method: str, options: dict[str, Any]
) -> None:
    algorithm = ALGORITHMS[method]
    chosen, deaf = algorithm.options(**options), Deaf()
    assert not isinstance(algorithm.releases, NotPrivate)
    releases = algorithm.releases(chosen, 2)
    sent_over_two_rounds(four_sites, algorithm, chosen, deaf)
    declared = [release.purpose for release in (*releases.trainings, *releases.queries)]
    assert sorted(deaf.asked) == sorted(2 * declared)


@pytest.mark.parametrize(("method", "options"), CASES)
def test_what_a_record_brings_to_a_training_depends_on_no_other_record(
    four_sites: Any, method: str, options: dict[str, Any]
) -> None:
    """Neither on one that stands beside it in a batch, nor on one the objective was made with."""
    algorithm = ALGORITHMS[method]
    chosen, before, after = algorithm.options(**options), Deaf(), Deaf()
    sent_over_two_rounds(four_sites, algorithm, chosen, before)
    four_sites.x, four_sites.y = four_sites.x.clone(), four_sites.y.clone()
    four_sites.x[0], four_sites.y[0] = 9.0, (four_sites.y[0] + 1) % 3  # the first record of the first site
    sent_over_two_rounds(four_sites, algorithm, chosen, after)
    for (one, model), (other, _) in zip(before.objectives, after.objectives, strict=True):
        whole = brought(four_sites, one, model, [1, 2, 3, 4, 5])
        torch.testing.assert_close(brought(four_sites, other, model, [1, 2, 3, 4, 5]), whole, atol=0, rtol=0)
        torch.testing.assert_close(brought(four_sites, one, model, [3]), whole[:, 2:3])
        assert_same_pull(one, other, torch.ones((4, model.parameters)))


@pytest.mark.parametrize(("method", "options"), CASES)
def test_what_is_noised_as_a_mean_is_one(four_sites: Any, method: str, options: dict[str, Any]) -> None:
    """Of one value in [0, 1] a record: one moves it by at most 1 / n, and two move it by what each does alone."""
    algorithm, x, y = ALGORITHMS[method], four_sites.x, four_sites.y
    chosen = algorithm.options(**options)

    def exact(*changed: int) -> list[Tensor]:
        four_sites.x, four_sites.y, deaf = x.clone(), y.clone(), Deaf()
        for record in changed:
            four_sites.x[record], four_sites.y[record] = 1000.0 * x[record], (y[record] + record) % 3
        sent_over_two_rounds(four_sites, algorithm, chosen, deaf)
        return deaf.exact

    for before, first, second, both in zip(exact(), exact(0), exact(1), exact(0, 1), strict=True):
        assert ((before >= 0) & (before <= 1)).all()
        assert max((one - before)[0].abs().max() for one in (first, second)) <= 1 / 9 + 1e-6
        torch.testing.assert_close(both - before, (first - before) + (second - before), atol=1e-5, rtol=0)


def brought(four_sites: Any, objective: Objective, model: Model, rows: list[int]) -> Tensor:
    """The loss of some records of the first site, given what the model says of each."""
    answers = torch.randn((1, 9, model.classes), generator=torch.Generator().manual_seed(4))[:, rows]
    weight = torch.full((1, len(rows)), 1 / len(rows))
    batch = Batch(four_sites.x[rows][None], four_sites.y[rows][None], torch.tensor([rows]), weight)
    return objective.narrow(slice(0, 1)).record_loss(answers, batch)


def assert_same_pull(one: Objective, other: Objective, theta: Tensor) -> None:
    """The part that is added without noise reads no record at all."""
    first, second = one.weight_pull(theta), other.weight_pull(theta)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert torch.equal(first.dense(theta), second.dense(theta))
