"""Gradients of single records of any module: by Opacus, by torch.func and in closed form they are the same, on every
preset; and what Opacus gets wrong in silence is found before it is used."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from opacus.layers import DPMultiheadAttention
from torch import Tensor, nn

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description, Model
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.presets import PRESETS, Choice, made
from secure_sapefl.privacy.modules.records import FunctionRecords, OpacusRecords, per_record
from secure_sapefl.privacy.per_record import clipped_sum, require_record_gradients
from secure_sapefl.privacy.reference import OpacusSite
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.training.objective import Batch, LocalLoss, Objective
from tests.models.conftest import SEQUENCE, TABLE, Adapted, Recurrent, Residual

SHAPES = {"resnet": (3, 8, 8), "lstm": (5, 4), "transformer": (5, 4)}
RECORDS = 5


def preset(name: str) -> Model:
    return made(Choice(name=name), Description(SHAPES.get(name, (6,)), 3), np.random.default_rng(0)).model


def own(build: Callable[[Description], nn.Module], about: Description = TABLE) -> ModuleModel:
    return ModuleModel.from_build(build, about, np.random.default_rng(0))


def batch_for(model: Model, shape: tuple[int, ...], sites: int = 1) -> Batch:
    random = torch.Generator().manual_seed(3)
    x = torch.randn((sites, RECORDS, *shape), generator=random)
    y = torch.randint(3, (sites, RECORDS), generator=random)
    rows = torch.arange(RECORDS).repeat(sites, 1)
    keys = torch.arange(sites) + 5 if model.draws else None
    return Batch(x, y, rows, torch.full((sites, RECORDS), 1 / RECORDS), keys)


def anchored(model: Model, theta: Tensor, x: Tensor) -> Objective:
    """The dual-anchored objective, whose outputs read records and whose pull on weights reads none."""
    random = torch.Generator().manual_seed(4)
    anchors = [theta + 0.3 * torch.randn(theta.shape, generator=random) for _ in range(2)]
    outputs = [model.outputs(anchor, x) for anchor in anchors]
    strength = torch.ones(len(theta))
    return CosineAnchored(Anchors.stacked(anchors, outputs, (strength, strength)), 0.5, "flattened")


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_step_of_every_preset_is_opacus_own(name: str) -> None:
    """Without noise: clipped and summed by us, and a whole step by Opacus' modules and optimizer. The pull on weights
    is added after clipping in both."""
    model, shape = preset(name), SHAPES.get(name, (6,))
    theta = model.initial(np.random.default_rng(1))[None]
    batch = batch_for(model, shape)
    objective = anchored(model, theta, batch.x)
    parts = clipped_sum(model, model.views(theta), batch, objective, 0.5)
    gradient = torch.cat([part.flatten(1) for part in parts], 1)
    pull = objective.weight_pull(theta)
    assert pull is not None
    stepped = theta - 0.1 * (gradient + pull.dense(theta))
    reference = OpacusSite(model, theta[0], "hooks", clip=0.5, noise=0.0, expected_batch=RECORDS, lr=0.1)
    reference.step(batch, objective)
    torch.testing.assert_close(stepped[0], reference.theta, atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_both_ways_agree_on_every_preset(name: str) -> None:
    """Presets that have a closed form are tried as the modules they are, too."""
    model, shape = preset(name), SHAPES.get(name, (6,))
    any_module = model if isinstance(model, ModuleModel) else own(lambda _: model.module(), Description(shape, 3))
    theta = any_module.initial(np.random.default_rng(1))[None]
    batch = batch_for(any_module, shape)
    weights = [view[0] for view in any_module.views(theta)]
    key = None if batch.keys is None else batch.keys[0]
    slopes = torch.randn((RECORDS, 3), generator=torch.Generator().manual_seed(9))
    found = [way(any_module)(weights, batch.x[0], key, lambda _: slopes) for way in (OpacusRecords, FunctionRecords)]
    for by_opacus, by_function in zip(*found, strict=True):
        torch.testing.assert_close(by_opacus, by_function, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["linear", "small", "paper"])
def test_the_closed_form_is_what_any_module_gives(name: str) -> None:
    model = preset(name)
    any_module = own(lambda _: model.module(), Description((6,), 3))
    theta = torch.stack([model.initial(np.random.default_rng(g)) for g in range(2)])
    batch = batch_for(model, (6,), sites=2)
    ours, theirs = (clipped_sum(m, m.views(theta), batch, LocalLoss(), 0.3) for m in (model, any_module))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


class StepsFirst(nn.Module):
    """Attention as it is by default, steps before records: with as many steps as records Opacus takes one for the
    other, and nothing fails."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.attention = DPMultiheadAttention(4, 2)
        self.fc = nn.Linear(4, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(0, 1)
        return self.fc(self.attention(x, x, x)[0].mean(0))


def test_gradients_of_steps_are_not_taken_for_gradients_of_records() -> None:
    model = own(StepsFirst, Description((RECORDS, 4), 3))
    assert isinstance(per_record(model), FunctionRecords)
    batch = batch_for(model, (RECORDS, 4))
    weights = [view[0] for view in model.views(model.initial(np.random.default_rng(0))[None])]
    slopes = torch.ones(RECORDS, 3)
    wrong = OpacusRecords(model)(weights, batch.x[0], None, lambda _: slopes)
    right = per_record(model)(weights, batch.x[0], None, lambda _: slopes)
    assert [one.shape for one in wrong] == [one.shape for one in right]
    assert not torch.allclose(wrong[0], right[0], atol=1e-3)


class Unused(nn.Module):
    """A weight that no record reaches, one that is used twice, and two of no layer, one of them a number."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.scale, self.warmth = nn.Parameter(torch.ones(5)), nn.Parameter(torch.tensor(2.0))
        self.there, self.back = nn.Linear(5, 3), nn.Linear(5, 3)
        self.back.weight = self.there.weight
        self.spare = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.there(x * self.scale) + self.back(torch.tanh(x * self.warmth))


@pytest.mark.parametrize(
    ("build", "about"), [(Residual, TABLE), (lambda a: Residual(a, 0.4), TABLE), (Adapted, TABLE), (Unused, TABLE)]
)
def test_modules_of_ones_own(build: Callable[[Description], nn.Module], about: Description) -> None:
    """Each record's own gradient is at most the clip, and with a wide clip the sum is the ordinary gradient."""
    model = own(build, about)
    require_record_gradients(model)
    theta = model.initial(np.random.default_rng(0))[None]
    batch = batch_for(model, about.shape)
    weights = [view.requires_grad_() for view in model.views(theta.clone())]
    loss = LocalLoss().loss(model.apply(weights, batch.x, batch.keys), batch)
    plain = torch.autograd.grad(loss.sum(), weights, materialize_grads=True)
    wide = clipped_sum(model, model.views(theta), batch, LocalLoss(), 1e6)
    narrow = clipped_sum(model, model.views(theta), batch, LocalLoss(), 1e-3)
    torch.testing.assert_close(wide, list(plain), atol=1e-5, rtol=1e-4)
    assert torch.cat([part.flatten() for part in narrow]).norm() <= 1e-3 * (1 + 1e-4)


def test_a_record_without_a_gradient_counts_as_nothing() -> None:
    model = own(Residual)
    theta, batch = model.initial(np.random.default_rng(0))[None], batch_for(model, (5,))
    spoilt = Batch(batch.x.clone(), batch.y, batch.rows, batch.weight)
    spoilt.x[0, 2] = torch.inf
    without = Batch(batch.x, batch.y, batch.rows, batch.weight.clone())
    without.weight[0, 2] = 0
    sums = [clipped_sum(model, model.views(theta), one, LocalLoss(), 0.5) for one in (spoilt, without)]
    for one, other in zip(*sums, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_a_module_that_has_none_is_refused_with_what_to_use_instead() -> None:
    with pytest.raises(BadInput, match=r"gradient of a single record.*nn.LSTM.*DPLSTM"):
        require_record_gradients(own(Recurrent, SEQUENCE))
