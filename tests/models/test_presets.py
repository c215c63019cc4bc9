"""A name, a file or a function becomes a model; what is the user's own has a digest."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.models.base import Description
from secure_sapefl.models.presets import PRESETS, Choice, Made, made
from secure_sapefl.own_code import OwnCode, own_function
from tests.models.conftest import TABLE, Residual

SHAPES = {"resnet": (1, 8, 8), "lstm": (6, 4), "transformer": (6, 4)}
SOURCE = """
from torch import nn

def build(about):
    return nn.Linear(about.shape[0], about.outputs)

NOT_A_FUNCTION = 3
"""


def make(choice: Choice, about: Description = TABLE, seed: int = 0) -> Made:
    return made(choice, about, np.random.default_rng(seed))


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 4, 4)])
def test_a_linear_model_of_rows_of_any_shape(shape: tuple[int, ...]) -> None:
    about = Description(shape=shape, outputs=3)
    model = make(Choice(name="linear"), about).model
    assert model.parameters == 3 * int(np.prod(shape)) + 3
    theta, x = model.initial(np.random.default_rng(0))[None], torch.randn(1, 4, *shape)
    module = model.module()
    assert model.outputs(theta, x).shape == (1, 4, 3)
    assert module(x[0]).shape == (4, 3)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_bring_no_code_of_the_users(name: str) -> None:
    assert make(Choice(name=name), Description(SHAPES.get(name, (5,)), 3)).digest is None


@pytest.mark.parametrize(
    ("name", "shape"),
    [("table", (3, 4)), ("resnet", (5,)), ("resnet", (1, 3, 9)), ("lstm", (5,)), ("transformer", (1, 2, 3))],
)
def test_a_reference_says_what_rows_it_reads(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match=rf"Rows of shape .*`{name}`.* reads"):
        make(Choice(name=name), Description(shape, 3))


@pytest.mark.parametrize("name", ["table", "resnet", "lstm", "transformer"])
def test_references_can_be_stacked_and_split(name: str) -> None:
    model = make(Choice(name=name), Description(SHAPES.get(name, (5,)), 3)).model
    assert model.unstackable is None
    assert 0 < model.head_start < model.parameters


def test_a_file_is_a_model_and_its_digest_follows_source_and_weights(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    choice = Choice(name=f"{file}:build")
    first = make(choice)
    assert first.model.parameters == 5 * 3 + 3
    assert first.digest == make(choice).digest
    assert first.digest != make(choice, seed=1).digest
    file.write_text(SOURCE + "\n# changed\n")
    assert make(choice).digest != first.digest


def test_a_body_that_stands_still_may_be_of_shorter_numbers() -> None:
    class Adapted(nn.Module):
        def __init__(self, about: Description) -> None:
            super().__init__()
            self.body = nn.Linear(about.shape[0], 4).bfloat16().requires_grad_(False)
            self.fc = nn.Linear(4, about.outputs)

        def forward(self, x: Tensor) -> Tensor:
            answer: Tensor = self.fc(self.body(x.bfloat16()).float())
            return answer

    first, other = (make(Choice(name="anything", build=own_function(Adapted)), seed=seed) for seed in (0, 1))
    assert first.model.parameters == 5 * 3
    assert first.digest != other.digest


def test_a_function_that_was_passed(tmp_path: Path) -> None:
    found = make(Choice(name="anything", head="fc", build=own_function(Residual)))
    assert found.model.head_start == found.model.parameters - 27
    assert found.digest is not None


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    with pytest.raises(UnknownName, match=r"Unknown model 'smal'\. Did you mean 'small'"):
        make(Choice(name="smal"))
    with pytest.raises(BadInput, match="no function"):
        make(Choice(name=f"{file}:NOT_A_FUNCTION"))
    with pytest.raises(BadInput, match=r"no function.*but <class 'torch.nn.modules.linear.Linear'>"):
        make(Choice(name="anything", build=OwnCode("net:LAYER", nn.Linear(5, 3), "")))
    for build in (nn.Linear, lambda: nn.Linear(5, 3)):
        with pytest.raises(BadInput, match="cannot be called with the data's description alone"):
            make(Choice(name="anything", build=OwnCode("net:build", build, "")))
    with pytest.raises(BadInput, match="leave out --head"):
        make(Choice(name="small", head="fc"))
