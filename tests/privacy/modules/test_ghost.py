"""Clipped sums without a gradient for each record: the same as with one, where that is the shorter way."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.presets import Choice, made
from secure_sapefl.privacy.modules import records
from secure_sapefl.privacy.modules.ghost import GhostRecords, ghost, require_right, weights_saved
from secure_sapefl.privacy.modules.trial import Differs, Trial
from secure_sapefl.privacy.per_record import clipped, clipped_sum
from secure_sapefl.tasks.builtin import REGRESSION
from secure_sapefl.training.objective import Batch, LocalLoss

RECORDS = 5


class Wide(nn.Module):
    """Linear layers, a norm, dropout, and a weight that no layer has."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(about.shape[-1], 16), nn.LayerNorm(16)
        self.second, self.drop = nn.Linear(16, 16, bias=False), nn.Dropout(0.3)
        self.fc = nn.Linear(16, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.relu(self.norm(self.first(x)))
        answer: Tensor = self.fc(wide + self.drop(torch.relu(self.second(wide))))
        return answer if answer.dim() == 2 else answer.mean(1)


class Branching(Wide):
    """The second layer only meets batches of another size than four."""

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.relu(self.norm(self.first(x)))
        answer: Tensor = self.fc(torch.relu(self.second(wide)) if len(x) != 4 else wide)
        return answer


def own(build: type[nn.Module], shape: tuple[int, ...] = (6,)) -> ModuleModel:
    return ModuleModel.from_build(build, Description(shape, 3), np.random.default_rng(0))  # type: ignore[arg-type]


def batch_for(shape: tuple[int, ...], sites: int = 2, records: int = RECORDS) -> Batch:
    random = torch.Generator().manual_seed(3)
    x, y = torch.randn((sites, records, *shape), generator=random), torch.rand((sites, records, 3), generator=random)
    rows, weight = torch.arange(records).repeat(sites, 1), torch.full((sites, records), 1 / records)
    return Batch(x, y, rows, weight, torch.arange(sites) + 5, REGRESSION)


def formed_sum(model: ModuleModel, batch: Batch, clip: float) -> list[Tensor]:
    """With every record's gradient formed, site by site."""
    theta = model.initial(np.random.default_rng(1)).repeat(len(batch.x), 1)
    sites = []
    for site in (slice(g, g + 1) for g in range(len(theta))):
        part, weights = batch.narrow(site), model.views(theta[site])
        gradients = records.formed_gradients(model, weights, part, LocalLoss())
        sites.append(clipped(gradients, part.weight, clip))
    return [torch.cat(parts) for parts in zip(*sites, strict=True)]


def ghost_sum(model: ModuleModel, batch: Batch, clip: float) -> list[Tensor]:
    assert ghost(model) is not None
    theta = model.initial(np.random.default_rng(1)).repeat(len(batch.x), 1)
    return clipped_sum(model, model.views(theta), batch, LocalLoss(), clip)


@pytest.mark.parametrize("shape", [(6,), (4, 6)], ids=["rows", "sequences"])
@pytest.mark.parametrize("clip", [0.05, 100.0])
def test_the_clipped_sum_is_the_same(shape: tuple[int, ...], clip: float) -> None:
    model, batch = own(Wide, shape), batch_for(shape)
    for one, other in zip(ghost_sum(model, batch, clip), formed_sum(model, batch, clip), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_a_record_that_is_no_number_counts_as_nothing() -> None:
    model, batch = own(Wide), batch_for((6,))
    batch.x[0, 1], batch.x[1, 2], batch.y[1, 4] = torch.inf, torch.nan, torch.nan
    for one, other in zip(ghost_sum(model, batch, 0.05), formed_sum(model, batch, 0.05), strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_what_a_batch_before_left_is_forgotten() -> None:
    """A layer that meets one batch and not the next has no norm there."""
    model, batch = own(Branching), batch_for((6,), sites=1, records=RECORDS - 1)
    ghost_sum(model, batch_for((6,), sites=1), 0.05)
    for one, other in zip(ghost_sum(model, batch, 0.05), formed_sum(model, batch, 0.05), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "shape", "pays"),
    [("table", (6,), True), ("resnet", (3, 8, 8), False), ("lstm", (5, 4), False)],
)
def test_it_is_used_where_most_weights_are_in_linear_layers(name: str, shape: tuple[int, ...], pays: bool) -> None:
    model = made(Choice(name=name), Description(shape, 3), np.random.default_rng(0)).model
    assert isinstance(model, ModuleModel)
    assert (ghost(model) is not None) == pays


def test_over_long_sequences_the_gradient_is_the_shorter_way() -> None:
    """16 x 16 weights against 2 T^2 products."""
    saved = {steps: weights_saved(own(Wide, (steps, 16))) for steps in (11, 12)}
    assert saved[11] - saved[12] == 16 * 16 + 16 + 16 * 16


def test_layers_that_are_called_by_keyword_are_left_to_torch_func() -> None:
    """Opacus' hooks see no input there, and fail with an index."""

    class Named(Wide):
        def forward(self, x: Tensor) -> Tensor:
            answer: Tensor = self.fc(input=self.second(input=self.first(input=x)))
            return answer

    model = own(Named)
    assert ghost(model) is None
    assert isinstance(records.per_record(model), records.FunctionRecords)


def test_a_layer_that_is_called_twice_is_left_to_the_other_way() -> None:
    class Twice(Wide):
        def forward(self, x: Tensor) -> Tensor:
            answer: Tensor = self.fc(self.second(self.second(self.first(x))))
            return answer

    model = own(Twice)
    assert weights_saved(model) * 2 >= model.parameters
    assert ghost(model) is None


def test_a_wrong_norm_is_found_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    model = own(Wide)
    way = GhostRecords(model)
    require_right(way, Trial.made_up(model))
    real = GhostRecords.__call__

    def wrong(self: GhostRecords, *args: object) -> object:
        found = real(self, *args)  # type: ignore[arg-type]
        return type(found)(found.way, found.weights, found.x, found.key, found.slopes, found.norms * 1.5, found.begun)

    monkeypatch.setattr(GhostRecords, "__call__", wrong)
    with pytest.raises(Differs, match="all weights"):
        require_right(GhostRecords(model), Trial.made_up(model))
