"""The three networks of the benchmark are what it says they are, and are all trained."""

import numpy as np

from secure_sapefl.experiments.bench_modules import CHOICES, ModuleRow, modules
from secure_sapefl.experiments.bench_simulate import SMALL, Setting
from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.presets import made
from secure_sapefl.models.recognised import RecognisedModel
from secure_sapefl.models.stacked import StackedModel

TINY = Setting(name="tiny", features=4, classes=3, model="small", clients=4, rows=12)


def test_the_small_mlp_built_in_recognised_and_not() -> None:
    about = Description((SMALL.features,), SMALL.classes)
    built_in, plain, residual = (made(choice, about, np.random.default_rng(0)).model for choice in CHOICES.values())
    assert [type(model) for model in (built_in, plain, residual)] == [StackedModel, RecognisedModel, ModuleModel]
    assert residual.unstackable is None
    assert built_in.parameters == plain.parameters == residual.parameters


def test_all_are_trained_and_set_beside_the_built_in() -> None:
    said: list[str] = []
    rows = modules(said.append, repeats=1, setting=TINY)
    assert [row.model for row in rows] == list(CHOICES)
    assert rows[0].ratio == 1
    assert all(row.seconds > 0 and row.built_in_seconds == rows[0].seconds for row in rows)
    assert len(said) == 1


def test_a_ratio_by_hand() -> None:
    assert ModuleRow(model="own", parameters=1, seconds=1.5, built_in_seconds=1.2).ratio == 1.25
