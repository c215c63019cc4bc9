"""The gradients that every faster way is held against."""

import numpy as np
import pytest
import torch
from torch import nn

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.privacy.modules.trial import Differs, Trial, require_close
from secure_sapefl.privacy.per_record import require_record_gradients


def test_a_linear_models_gradients_by_hand() -> None:
    """Of slope times row, for each record."""
    model = ModuleModel.from_build(lambda _: nn.Linear(3, 2), Description((3,), 2), np.random.default_rng(0))
    trial = Trial.made_up(model)
    weight, bias = trial.gradients
    torch.testing.assert_close(weight, trial.slopes[:, :, None] * trial.x[:, None, :])
    torch.testing.assert_close(bias, trial.slopes)
    assert trial.key is None


def test_what_draws_has_a_key() -> None:
    drops = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5), nn.Linear(2, 2))
    model = ModuleModel.from_build(lambda _: drops, Description((3,), 2), np.random.default_rng(0))
    assert Trial.made_up(model).key is not None


@pytest.mark.parametrize("found", [torch.ones(3), torch.tensor([1.0, 2.1])], ids=["another shape", "another number"])
def test_what_differs_is_named(found: torch.Tensor) -> None:
    require_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]), "'fc'")
    with pytest.raises(Differs, match="'fc' are not those of single records"):
        require_close(found, torch.tensor([1.0, 2.0]), "'fc'")


class Deciding(nn.Linear):
    """Made-up rows are all positive, so that no trial of answers shows what this does."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input if input.sum() > 0 else -input)


def test_one_record_does_not_decide_about_anothers_gradient() -> None:
    model = ModuleModel.from_build(lambda _: Deciding(3, 2), Description((3,), 2), np.random.default_rng(0))
    with pytest.raises(BadInput, match=r"looks at values of a batch \(__bool__\).*torch.where"):
        require_record_gradients(model)
