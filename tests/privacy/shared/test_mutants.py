"""Mistakes that would be easy to make, each made on purpose and seen by a check on what sites really send.

The check reads no plan of the code under test: it draws what h honest sites send, and counts.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared import mechanism
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.grid import rounded_gaussian
from secure_sapefl.privacy.shared.mechanism import SharedGroup
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import noise_for
from secure_sapefl.privacy.trainer import sampled_plan
from secure_sapefl.training.plan import Shard

MODEL = StackedModel((Linear(199, 50),), classes=50, widest=199)
M, T = 11, 3
HONEST = M - T - 1
ROWS = 400
Group = Callable[..., SharedGroup]
Mutate = Callable[[pytest.MonkeyPatch], None]


def enough_noise(paid_group: Group) -> bool:
    """Whether what m - t - 1 sites without a record send has the deviation that the budget asks of the sum. A ledger
    that refuses to pay for such a share has seen it first."""
    nothing = (0,) * HONEST
    shard = Shard(torch.zeros((1, 199)), torch.zeros(1, dtype=torch.int64), nothing, nothing)
    try:
        group = paid_group(HONEST, MODEL.parameters, parties=Parties(M, T))
    except BudgetExhausted:
        return False
    sent = group.gradient_sums(torch.zeros(MODEL.parameters), MODEL, shard).double().sum(0)
    wanted = noise_for(Budget(2.0, 1e-5), 0.25, 20) * group.carriage.sensitivity
    return float(sent.std()) * group.carriage.unit > 0.97 * wanted


def drawn(paid_group: Group, patch: pytest.MonkeyPatch) -> float:
    """Which part of 8,000 records is drawn."""
    seen: list[int] = []
    inner = mechanism.sampled_plan  # mutated or not

    def counted(*arguments: object) -> object:
        plan = inner(*arguments)  # type: ignore[arg-type]
        seen.append(int((plan.weight > 0).sum()))
        return plan

    patch.setattr(mechanism, "sampled_plan", counted)
    shard = Shard(torch.randn((ROWS, 199)), torch.zeros(ROWS, dtype=torch.int64), (0,) * 20, (ROWS,) * 20)
    paid_group(20, MODEL.parameters).gradient_sums(torch.zeros(MODEL.parameters), MODEL, shard)
    return sum(seen) / (20 * ROWS)


def by_the_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parties, "share", lambda self, noise: noise / self.honest)


def by_m(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parties, "share", lambda self, noise: noise / math.sqrt(self.contributors))


def colluders_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parties, "share", lambda self, noise: noise / math.sqrt(self.contributors - 1))


def forgotten_at_one_site(patch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def forgetful(source: object, deviation: float, count: int) -> object:
        calls.append(count)
        return np.zeros(count, dtype=np.int64) if len(calls) == 1 else rounded_gaussian(source, deviation, count)  # type: ignore[arg-type]

    patch.setattr(mechanism, "rounded_gaussian", forgetful)


def sensitivity_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Carriage, "deviation", lambda self, noise: 0.9 * noise * self.sensitivity / self.step)


def a_batch_too_many(patch: pytest.MonkeyPatch) -> None:
    """A sixteenth more is drawn than was paid for."""

    def more(sizes: object, events: list[object], *rest: object) -> object:
        often = [replace(event, sample_rate=event.sample_rate * 17 / 16) for event in events]  # type: ignore[type-var,attr-defined]
        return sampled_plan(sizes, often, *rest)  # type: ignore[arg-type]

    patch.setattr(mechanism, "sampled_plan", more)


def test_sound_code_passes(paid_group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    assert enough_noise(paid_group)
    assert drawn(paid_group, monkeypatch) == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / (20 * ROWS)))


@pytest.mark.parametrize(
    "mutant", [by_the_number, by_m, colluders_ignored, forgotten_at_one_site, sensitivity_forgotten]
)
def test_too_little_noise_is_seen(paid_group: Group, monkeypatch: pytest.MonkeyPatch, mutant: Mutate) -> None:
    mutant(monkeypatch)
    assert not enough_noise(paid_group)


def test_a_rate_above_the_one_that_is_paid_for_is_seen(paid_group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coins are the same with and without the mutant, so that a sixteenth cannot hide in their scatter."""
    with monkeypatch.context() as patch:
        sound = drawn(paid_group, patch)
    a_batch_too_many(monkeypatch)
    assert drawn(paid_group, monkeypatch) > 1.03 * sound
