"""Every method on every task: in the clear and encrypted, with a budget and without."""

import math
from functools import cache

import numpy as np
import pytest
from torch import nn

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels, Scale
from secure_sapefl.models.base import Description
from secure_sapefl.tasks.builtin import TASKS

NAMES = {"classification": ("a", "b"), "multilabel": ("cough", "fever"), "regression": ("days",)}
UNABLE = {("fedas", "multilabel"), ("fedas", "regression")}
PAIRS = [(method, task) for method in ALGORITHMS for task in TASKS]
QUICK = [("fedas", "regression"), ("sapefl", "regression"), ("sapefl-plus", "multilabel")]  # the others are slow
BUDGET = {"dp_epsilon": 50.0, "dp_delta": 1e-2, "dp_score_fraction": 0.2}


def build(about: Description) -> nn.Module:
    return nn.Sequential(nn.Linear(*about.shape, 3), nn.ReLU(), nn.Linear(3, about.outputs))


@cache
def federation(task: str) -> Federation:
    rng, labels = np.random.default_rng(5), Labels(TASKS[task].labels)
    if task == "regression":
        labels = Labels("number", Scale((10.0,), (2.0,), public=True))

    def rows(count: int) -> Rows:
        X = rng.normal(size=(count, 2)).astype(np.float32)
        match task:
            case "classification":
                return Rows(X, (X[:, 0] > 0).astype(np.int64))
            case "multilabel":
                return Rows(X, (X > 0).astype(np.float32))
        return Rows(X, X[:, :1])

    clients = tuple(
        ClientData(name=name, train=rows(count), test=rows(6)) for name, count in zip("xyz", (12, 9, 8), strict=True)
    )
    return Federation(
        dataset="tiny", shape=(2,), class_names=NAMES[task], clients=clients, source="made up", partition="natural",
        labels=labels,
    )  # fmt: skip


@cache
def run(method: str, task: str, protection: str, private: bool) -> Result:
    config = Config(
        method=method, task=task, protection=protection, rounds=2, local_epochs=1, batch_size=4, participation=1.0,
        workers=0, threads=1, **(BUDGET if private else {}),
    )  # fmt: skip
    return simulate(config, federation=federation(task), model=build)


def check(result: Result, task: str, private: bool) -> None:
    summary = result.summary()
    assert summary["task"] == task
    assert (summary["accuracy"] is None) == (summary["auc"] is None) == (task == "regression")
    main = summary["metrics"][summary["main_metric"]]
    assert len(main["per_client"]) == 3
    assert all(math.isfinite(value) for value in main["per_client"])
    assert main["higher_is_better"] == (task != "regression")
    assert not summary["refused"]
    if private:
        assert summary["privacy"]["epsilon_max"] <= BUDGET["dp_epsilon"]


def compare(method: str, task: str, private: bool) -> None:
    if (method, task) in UNABLE:
        with pytest.raises(BadInput, match="needs classes"):
            run(method, task, "plaintext", private)
        return
    plain, encrypted = (run(method, task, protection, private) for protection in ("plaintext", "ckks"))
    check(plain, task, private)
    check(encrypted, task, private)
    np.testing.assert_allclose(encrypted.main.per_client, plain.main.per_client, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(("method", "task"), PAIRS)
def test_every_method_learns_every_task_encrypted_as_in_the_clear_or_says_why_not(method: str, task: str) -> None:
    compare(method, task, private=False)


@pytest.mark.parametrize(
    ("method", "task"),
    [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow) for pair in PAIRS],
)
@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_and_so_with_a_budget(method: str, task: str) -> None:
    compare(method, task, private=True)


def test_numbers_are_judged_in_their_units() -> None:
    """A width of 2 doubles the mean absolute error, and leaves R² as it is."""
    wide = run("local", "regression", "plaintext", False)
    narrow = federation("regression")
    narrow = Federation(
        **{name: getattr(narrow, name) for name in narrow.__slots__ if name != "labels"},
        labels=Labels("number", Scale((0.0,), (1.0,))),
    )
    config = Config(method="local", protection="plaintext", rounds=2, local_epochs=1, batch_size=4, participation=1.0)
    found = simulate(config, federation=narrow, model=build)
    assert wide.main.mean == pytest.approx(2 * found.main.mean, rel=1e-5)
    r2 = [result.last.personal.metrics["r2"].mean for result in (wide, found)]
    assert r2[0] == pytest.approx(r2[1], rel=1e-4)
