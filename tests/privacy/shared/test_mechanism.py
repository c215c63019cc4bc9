"""What a site sends for one step, against sums and noise computed another way."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.privacy import per_record
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.shared import mechanism
from secure_sapefl.privacy.shared.grid import rounded_gaussian
from secure_sapefl.privacy.shared.mechanism import ROOM, SharedGroup
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.training.objective import Batch
from secure_sapefl.training.plan import Shard

Group = Callable[..., SharedGroup]
MODEL = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
SIZES = (40, 25, 0)


@pytest.fixture
def shard() -> Shard:
    """Three sites, the last without a record; rows far out, so that the clip bites."""
    random = torch.Generator().manual_seed(5)
    x = 5 * torch.randn((sum(SIZES) + 1, 4), generator=random)
    return Shard(x, torch.randint(3, (len(x),), generator=random), (0, 40, 65), SIZES)


@pytest.fixture
def theta() -> Tensor:
    return MODEL.initial(np.random.default_rng(1))


def sum_by_hand(theta: Tensor, x: Tensor, y: Tensor, clip: float) -> NDArray[np.float64]:
    """One record after another, in double precision, by autograd alone."""
    total = torch.zeros(MODEL.parameters, dtype=torch.float64)
    for record, label in zip(x.double(), y, strict=True):
        weights = theta.double().requires_grad_()
        logits = MODEL.apply(MODEL.views(weights[None]), record[None, None])[0]
        (gradient,) = torch.autograd.grad(F.cross_entropy(logits, label[None]), weights)
        total += gradient * min(1.0, clip / float(gradient.norm()))
    return total.numpy()


def drawn(seed: int, g: int, size: int, rate: float) -> tuple[NDArray[np.bool_], KeyedRandomness]:
    """Which records site g takes, and its stream as it stands behind that."""
    source = KeyedRandomness(np.random.default_rng((seed, g)))
    return source.uniform(size) < rate, source


def test_a_sum_is_sampled_clipped_rounded_and_noised(paid_group: Group, shard: Shard, theta: Tensor) -> None:
    group = paid_group(3, MODEL.parameters)
    carriage, share = group.carriage, share_of(paid_group(1, MODEL.parameters))
    sent = group.gradient_sums(theta, MODEL, shard)
    for g, size in enumerate(SIZES):
        taken, source = drawn(0, g, size, 0.25)
        x, y = (part[torch.from_numpy(taken)] for part in shard.site(g))
        exact = sum_by_hand(theta, x, y, ROOM)
        noise = rounded_gaussian(source, carriage.deviation(share), MODEL.parameters)
        whole = sent[g].double().numpy() * 2**carriage.bits
        assert (whole == np.rint(whole)).all()
        assert np.abs(whole - noise - exact / carriage.step).max() < 3  # float32 gradients, and the rounding


def share_of(group: SharedGroup) -> float:
    """The noise multiplier that its first site has paid for."""
    return next(iter(group.paid[0].values())).spend().noise_multiplier


@pytest.mark.parametrize("parties", [Parties(11, 1), Parties(11, 5), Parties(3, 1)])
def test_honest_shares_together_are_the_noise_that_the_budget_asks_for(
    paid_group: Group, plan: Callable[..., SharedPlan], parties: Parties
) -> None:
    """Sites without a record send their noise alone. h of them make sigma S, within what 20,000 numbers can tell."""
    model = StackedModel((Linear(199, 100),), classes=100, widest=199)
    nothing = (0,) * parties.honest
    nobody = Shard(torch.zeros((1, 199)), torch.zeros(1, dtype=torch.int64), nothing, nothing)
    group = paid_group(parties.honest, model.parameters, parties=parties)
    sent = group.gradient_sums(torch.zeros(model.parameters), model, nobody)
    made = plan(parties=parties)
    found = float(sent.double().sum(0).std()) * group.carriage.unit
    assert found == pytest.approx(made.noise * group.carriage.sensitivity, rel=0.03)


def test_a_record_more_moves_the_exact_sum_by_less_than_the_clip(shard: Shard, theta: Tensor) -> None:
    x, y = shard.site(0)
    moved = sum_by_hand(theta, x, y, ROOM) - sum_by_hand(theta, x[1:], y[1:], ROOM)
    assert np.linalg.norm(moved) <= ROOM * (1 + 1e-9)


def test_float32_stays_within_the_room_that_clipping_leaves(paid_group: Group, shard: Shard, theta: Tensor) -> None:
    """All 40 records at once: what single precision adds to the sum is far below the clip's 2^-10."""
    group = paid_group(3, MODEL.parameters, rate=1.0, most_units=1000)
    sent = group.gradient_sums(theta, MODEL, shard)[0].double().numpy() * 2**group.carriage.bits
    _, source = drawn(0, 0, SIZES[0], 1.0)
    share = share_of(paid_group(1, MODEL.parameters, rate=1.0, most_units=1000))
    noise = rounded_gaussian(source, group.carriage.deviation(share), MODEL.parameters)
    error = (sent - noise) * group.carriage.step - sum_by_hand(theta, *shard.site(0), ROOM)
    rounding = group.carriage.step * math.sqrt(MODEL.parameters)
    assert np.linalg.norm(error) < (1 - ROOM) / 2 + rounding


def test_a_sum_over_thousands_of_records_that_agree_is_exact(paid_group: Group, theta: Tensor) -> None:
    """In float32 it would be wrong by more than a clip: by more, that is, than one record may move it."""
    many, x, y = 20_000, torch.tensor([[3.0, -1.0, 4.0, 1.5]]), torch.tensor([2])
    group = paid_group(1, MODEL.parameters, rate=1.0, most_units=many)
    shard = Shard(x.expand(many, -1), y.expand(many), (0,), (many,))
    sent = group.gradient_sums(theta, MODEL, shard)[0].double().numpy() * 2**group.carriage.bits
    _, source = drawn(0, 0, many, 1.0)
    share = share_of(paid_group(1, MODEL.parameters, rate=1.0, most_units=many))
    noise = rounded_gaussian(source, group.carriage.deviation(share), MODEL.parameters)
    error = (sent - noise) * group.carriage.step - many * sum_by_hand(theta, x, y, ROOM)
    of_one_record = 2.0**-20 * many  # its gradient is made in float32, here 20,000 times
    assert np.linalg.norm(error) < group.carriage.step * math.sqrt(MODEL.parameters) / 2 + of_one_record


def test_records_that_are_added_up_together_are_added_in_double_precision(
    paid_group: Group, shard: Shard, theta: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a part, too. The sum above does not show it: there gradients in float32 are as far off."""
    kinds = set()

    def watched(model: Any, weights: Any, batch: Batch, objective: Any, clip: float) -> list[Tensor]:
        found = per_record.clipped_sum(model, weights, batch, objective, clip)
        kinds.update(one.dtype for one in (batch.weight, *found))
        return found

    monkeypatch.setattr(mechanism, "clipped_sum", watched)
    paid_group(3, MODEL.parameters, rate=1.0, most_units=1000).gradient_sums(theta, MODEL, shard)
    assert kinds == {torch.float64}


def test_a_payment_is_good_for_one_step(paid_group: Group, shard: Shard, theta: Tensor) -> None:
    group = paid_group(3, MODEL.parameters)
    group.gradient_sums(theta, MODEL, shard)
    with pytest.raises(RuntimeError, match="used before: one event, one release"):
        group.gradient_sums(theta, MODEL, shard)


def test_a_whole_site_is_clipped_and_sent_or_not_as_its_coin_falls(paid_group: Group) -> None:
    """Of twelve sites those with a coin below 1/4 send an update of length C; the others nothing but noise."""
    updates = torch.randn((12, 30)) * torch.logspace(-3, 3, 12).unsqueeze(1)
    updates[11, 4] = torch.nan
    group = paid_group(12, 30, unit="site", most_units=1, units=12)
    sent = group.update_sums(updates).double().numpy() * 2**group.carriage.bits
    share = share_of(paid_group(1, 30, unit="site", most_units=1, units=12))
    coins = []
    for g in range(12):
        taken, source = drawn(0, g, 1, 0.25)
        noise = rounded_gaussian(source, group.carriage.deviation(share), 30)
        length = float(updates[g].norm())
        expected = updates[g].numpy() * min(1, ROOM / length) if taken[0] and g < 11 else np.zeros(30)
        assert np.abs((sent[g] - noise) * group.carriage.step - expected).max() < 2 * group.carriage.step
        coins.append(bool(taken[0]))
    assert 0 < sum(coins) < 12
