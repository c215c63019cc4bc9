"""Exported models in the hands of plain torch, in a process that cannot import our package."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.export import OWN_USE, OwnModel, write_export
from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput

SITE = "north"
PROGRAMS = ("fedavg-ft.pt2", "sapefl.pt2", "local.pt2")  # the others take a second each, and have a slow test


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Result]]:
    """Every method on four hospitals with numbers far from any network's taste; the last one joins late."""
    folder = tmp_path_factory.mktemp("exports")
    rng, sites = np.random.default_rng(5), np.repeat(["east", "north", "south", "west"], 60)
    y = rng.integers(0, 3, len(sites))
    X = 100 + 40 * (rng.normal(size=(len(sites), 4)) + y[:, None])
    split = np.tile(np.r_[np.zeros(40, int), np.ones(20, int)], 4)
    np.savez(folder / "mine.npz", X=X, y=y, group=sites, split=split)
    kept = (sites == SITE) & (split == 1)
    np.savez(folder / "raw.npz", X=X[kept], y=y[kept])
    common = {"dataset": str(folder / "mine.npz"), "rounds": 2, "local_epochs": 2, "workers": 0, "late_clients": 1}
    return folder, {name: simulate(Config(method=name, protection="plaintext", **common)) for name in ALGORITHMS}


@pytest.fixture(scope="module")
def elsewhere(results: tuple[Path, dict[str, Result]]) -> dict[str, float]:
    """The accuracy of every method's state dict, and of some programs."""
    return found_by_plain_torch(*results, [*(f"{name}.safetensors" for name in ALGORITHMS), *PROGRAMS])


def found_by_plain_torch(folder: Path, by_method: dict[str, Result], files: list[str]) -> dict[str, float]:
    for file in files:
        by_method[Path(file).stem].export(SITE, str(folder / file))
    script = Path(__file__).with_name("plain_torch.py")
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


def reported(result: Result) -> float:
    return result.accuracy.per_client[result.facts["client_names"].index(SITE)]


@pytest.mark.parametrize("file", [*(f"{name}.safetensors" for name in ALGORITHMS), *PROGRAMS])
def test_plain_torch_finds_the_reported_accuracy(
    results: tuple[Path, dict[str, Result]], elsewhere: dict[str, float], file: str
) -> None:
    """To the last digit, from raw rows."""
    assert elsewhere[file] == reported(results[1][Path(file).stem])


@pytest.mark.slow
def test_plain_torch_runs_every_methods_program(results: tuple[Path, dict[str, Result]]) -> None:
    folder, by_method = results
    files = [f"{name}.pt2" for name in ALGORITHMS if f"{name}.pt2" not in PROGRAMS]
    found = found_by_plain_torch(folder, by_method, files)
    for file in files:
        assert found[file] == reported(by_method[Path(file).stem])


OTHER_TASKS: dict[str, dict[str, str]] = {"regression": {"task": "regression"}, "multilabel": {}}
QUICK = ("fedavg-ft", "sapefl")  # the others are slow


@pytest.mark.parametrize("methods", [QUICK, pytest.param(tuple(ALGORITHMS), marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", OTHER_TASKS)
def test_plain_torch_finds_what_is_reported_of_other_tasks(task: str, methods: tuple[str, ...], tmp_path: Path) -> None:
    """Labels that are yes or no to the last digit; numbers but for rounding, since a model answers in float32 and what
    is one product here is one of many sites there."""
    rng, sites = np.random.default_rng(5), np.repeat(["east", "north", "south"], 30)
    X, split = 100 + 40 * rng.normal(size=(90, 3)), np.tile(np.r_[np.zeros(20, int), np.ones(10, int)], 3)
    known = X[:, :2] + 40 * rng.normal(size=(90, 2))
    y = (known > 100).astype(int) if task == "multilabel" else 20 + known[:, :1] / 10
    np.savez(tmp_path / "mine.npz", X=X, y=y, group=sites, split=split)
    kept = (sites == SITE) & (split == 1)
    np.savez(tmp_path / "raw.npz", X=X[kept], y=y[kept])
    small = {"dataset": str(tmp_path / "mine.npz"), "rounds": 1, "local_epochs": 1, "workers": 0, **OTHER_TASKS[task]}
    able = [name for name in methods if name != "fedas"]  # which needs classes
    results = {name: simulate(Config(method=name, protection="plaintext", **small)) for name in able}
    found = found_by_plain_torch(tmp_path, results, [*(f"{name}.safetensors" for name in able), "sapefl.pt2"])
    for file, value in found.items():
        assert value == pytest.approx(judged(results[Path(file).stem]), rel=1e-5 if task == "regression" else 0)


def judged(result: Result) -> float:
    return result.main.per_client[result.facts["client_names"].index(SITE)]


def test_the_metadata_says_whose_it_is_and_what_it_is(
    results: tuple[Path, dict[str, Result]], elsewhere: dict[str, float]
) -> None:
    folder, by_method = results
    with safe_open(folder / "fedavg-ft.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["about"])
    with zipfile.ZipFile(folder / "fedavg-ft.pt2") as archive:
        (inside,) = [name for name in archive.namelist() if name.endswith("extra/about.json")]
        assert json.loads(archive.read(inside)) == about
    assert about["use"] == OWN_USE == json.loads((folder / "fedavg-ft.preprocessing.json").read_text())["use"]
    assert "`secure-sapefl release` is the only way to outsiders" in OWN_USE
    assert about["test_accuracy"] == elsewhere["fedavg-ft.pt2"]
    assert (about["site"], about["method"], about["classes"]) == (SITE, "fedavg-ft", ["0", "1", "2"])
    assert about["inputs"] == {"dtype": "float32", "shape": ["rows", 4]}
    assert "Linear(in_features=4" in about["module"]
    assert by_method["fedavg-ft"].accuracy.per_client[1] == about["test_accuracy"]


def test_no_file_holds_a_pickle(results: tuple[Path, dict[str, Result]], elsewhere: dict[str, float]) -> None:
    for file in results[0].glob("*.pt2"):
        with zipfile.ZipFile(file) as archive:
            assert not [name for name in archive.namelist() if name.endswith(".pkl")]
            assert all(not archive.read(name) for name in archive.namelist() if name.endswith(".pt"))


def test_a_site_that_came_late_has_its_model_too(results: tuple[Path, dict[str, Result]], tmp_path: Path) -> None:
    result = results[1]["sapefl"]
    assert result.late_clients is not None
    result.export("west", tmp_path / "west.safetensors")
    with safe_open(tmp_path / "west.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about["test_accuracy"] == result.late_clients["accuracy"]["per_client"][0]


class Remembers(nn.Module):
    """Tied weights, a buffer, and a branch that no tracer follows."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.register_buffer("seen", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(x) if x.sum().item() > 0 else self.second(-x)


def own(module: nn.Module) -> OwnModel:
    return OwnModel(module=module, site="a", shape=(3,), classes=("x", "y"), recipe={}, about={"rounds": 1})


def test_a_state_dict_holds_all_that_load_state_dict_wants(tmp_path: Path) -> None:
    module = Remembers()
    write_export(own(module), tmp_path / "deep" / "m.safetensors")
    with safe_open(tmp_path / "deep" / "m.safetensors", framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
    torch.testing.assert_close(tensors, dict(module.state_dict()), atol=0, rtol=0)
    Remembers().load_state_dict(tensors)


def test_a_model_that_cannot_be_followed_is_told_the_other_format(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot follow the model of 'a'.*\.safetensors"):
        write_export(own(Remembers()), tmp_path / "m.pt2")
    assert not list(tmp_path.iterdir())


def test_what_only_a_pickle_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As torch writes tensors of rare kinds."""
    real = torch.export.save

    def with_a_pickle(program: object, file: io.BytesIO, **more: object) -> None:
        real(program, file, **more)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("m/data/weights/other_weights_config.json", '{"config": {"w": {"use_pickle": true}}}')

    monkeypatch.setattr(torch.export, "save", with_a_pickle)
    with pytest.raises(BadInput, match=r"without a pickle \(w\)"):
        write_export(own(nn.Linear(3, 2)), tmp_path / "m.pt2")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["m.pt", "m.pkl", "m", "m.onnx"])
def test_other_formats_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"written as \.safetensors or \.pt2"):
        write_export(own(nn.Linear(3, 2)), tmp_path / name)


def test_nothing_is_replaced(tmp_path: Path) -> None:
    write_export(own(nn.Linear(3, 2)), tmp_path / "m.safetensors")
    before = (tmp_path / "m.safetensors").read_bytes()
    with pytest.raises(BadInput, match=r"m\.safetensors is there already"):
        write_export(own(nn.Linear(3, 2)), tmp_path / "m.safetensors")
    (tmp_path / "m.preprocessing.json").write_text("another's")
    (tmp_path / "m.safetensors").rename(tmp_path / "other")
    with pytest.raises(BadInput, match=r"m\.preprocessing\.json is there already"):
        write_export(own(nn.Linear(3, 2)), tmp_path / "m.safetensors")
    assert (tmp_path / "other").read_bytes() == before
