"""A study with a model of one's own: from a function or a file, told in the summary, and held to its source."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from secure_sapefl import Config, resume, simulate
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.errors import BadInput
from tests.models.conftest import Residual

Tiny = Callable[..., Config]
SOURCE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, about):
        super().__init__()
        self.lstm = nn.LSTM(1, 4, batch_first=True)
        self.fc = nn.Linear(4, about.outputs)

    def forward(self, x):
        return self.fc(self.lstm(x.unsqueeze(2))[0][:, -1])


def build(about):
    return Net(about)
"""


class Stopped(Exception):
    pass


def stop(event: RunEvent) -> None:
    if isinstance(event, RoundClosed):
        raise Stopped


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    return path


def test_a_function_builds_the_model_and_dropout_does_not_depend_on_the_engine(tiny: Tiny) -> None:
    def build(about: Any) -> torch.nn.Module:
        return Residual(about, dropout=0.3)

    results = [simulate(tiny(rounds=2, engine=engine, head="fc"), model=build) for engine in ("batched", "sequential")]
    assert results[0].parameters == (20 + 1) * 8 + 16 + 9 * 8 + 9 * 3
    assert results[0].accuracy.per_client == pytest.approx(results[1].accuracy.per_client, abs=1e-6)
    assert "trained" not in results[0].summary()


def test_the_size_of_groups_does_not_matter_either(tiny: Tiny) -> None:
    def build(about: Any) -> torch.nn.Module:
        return Residual(about, dropout=0.3)

    results = [simulate(tiny(rounds=2, group_size=size), model=build) for size in (1, 4)]
    assert results[0].accuracy.per_client == pytest.approx(results[1].accuracy.per_client, abs=1e-6)


def test_sites_of_a_model_that_cannot_be_stacked_are_trained_one_by_one_and_the_summary_says_so(
    tiny: Tiny, file: Path
) -> None:
    summary = simulate(tiny(rounds=1, model=f"{file}:build")).summary()
    assert summary["trained"].startswith("site after site: ")
    assert "lstm" in summary["trained"]


@pytest.mark.parametrize("method", ["sapefl-plus", "fedavg-ft-plus"])
def test_the_summary_says_where_no_base_can_be_shifted_to_a_sites_labels(tiny: Tiny, method: str) -> None:
    def said(bias: bool, **options: float) -> str | None:
        def build(about: Any) -> torch.nn.Module:
            return torch.nn.Linear(about.shape[0], about.outputs, bias=bias)

        return assemble(tiny(method=method, options=options), model=build).facts().get("base_share")

    assert "no bias at its outputs" in (said(bias=False) or "")
    assert said(bias=True) is None
    assert said(bias=False, base_share=0) is None, "nobody asked for a share"


def test_a_run_goes_on_with_its_file_and_refuses_a_changed_one(tiny: Tiny, file: Path, tmp_path: Path) -> None:
    config = tiny(rounds=2, model=f"{file}:build")
    whole = simulate(config)
    with pytest.raises(Stopped):
        simulate(config, tmp_path / "run", observers=[stop])
    file.write_text(SOURCE.replace("LSTM(1, 4", "LSTM(1, 5").replace("Linear(4", "Linear(5"))
    with pytest.raises(BadInput, match=r"run: the model differs.*another --out"):
        resume(tmp_path / "run")
    file.write_text(SOURCE)
    assert resume(tmp_path / "run").accuracy == whole.accuracy


def test_a_function_that_was_passed_is_passed_again(tiny: Tiny, tmp_path: Path) -> None:
    def build(about: Any) -> torch.nn.Module:
        return Residual(about)

    with pytest.raises(Stopped):
        simulate(tiny(rounds=2), tmp_path / "run", model=build, observers=[stop])
    with pytest.raises(BadInput, match=r"The model.*(has no|cannot be imported)"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", model=build).accuracy == simulate(tiny(rounds=2), model=build).accuracy


def test_weights_to_start_from(tiny: Tiny, tmp_path: Path) -> None:
    torch.save({"0.bias": torch.ones(3)}, tmp_path / "start.pt")
    config = tiny(rounds=1, model="linear", init=tmp_path / "start.pt")
    assert simulate(config).summary()["init"] == "1 of 2 tensors from start.pt; begun anew: 0.weight"
    with pytest.raises(Stopped):
        simulate(config.model_copy(update={"rounds": 2}), tmp_path / "run", observers=[stop])
    torch.save({"0.bias": torch.zeros(3)}, tmp_path / "start.pt")
    with pytest.raises(BadInput, match="the init differs"):
        resume(tmp_path / "run")


def test_weights_that_do_not_fit_a_model_of_ones_own_are_named(tiny: Tiny, tmp_path: Path) -> None:
    torch.save({"fc.bias": torch.ones(7)}, tmp_path / "start.pt")
    with pytest.raises(BadInput, match=r"'fc.bias' has shape \(7,\) in .*start.pt and \(3,\) in the model"):
        assemble(tiny(init=tmp_path / "start.pt"), model=Residual)


@pytest.mark.parametrize(("method", "model"), [("fedas", "linear"), ("fedafk", "own")])
def test_a_method_that_splits_models_asks_for_the_head(tiny: Tiny, method: str, model: str) -> None:
    build = Residual if model == "own" else None
    config = tiny(method=method) if build else tiny(method=method, model="linear")
    with pytest.raises(BadInput, match=r"treats body and head of a model apart.*--head fc"):
        simulate(config, model=build)
