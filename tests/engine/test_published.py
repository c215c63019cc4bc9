"""The common model for outsiders: noise of the stated width, counted on disk, refused where it would not fit."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.release import MAX_RELEASES, release_noise
from secure_sapefl import Config, simulate
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.published import PublishedModel, release_run
from secure_sapefl.engine.run_folder import saved_state
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.errors import PrivacyWarning

Tiny = Callable[..., Config]


@pytest.fixture
def ended(tiny: Tiny, tmp_path: Path) -> Callable[..., Path]:
    def run(**changes: Any) -> Path:
        simulate(tiny(**({"rounds": 2, "protection": "ckks"} | changes)), tmp_path / "run")
        return tmp_path / "run"

    return run


def counted(folder: Path) -> int:
    file = folder / "releases.jsonl"
    return len(file.read_text().splitlines()) if file.exists() else 0


def theta_of(folder: Path) -> np.ndarray[Any, Any]:
    return saved_state(folder)[1]["theta_global"].numpy()


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_the_file_is_the_common_model_with_noise_of_the_stated_width(
    ended: Callable[..., Path], tiny: Tiny, tmp_path: Path
) -> None:
    folder, out = ended(), tmp_path / "model.npz"
    written, read = release_run(folder, out), PublishedModel.read(out)
    np.testing.assert_array_equal(read.theta, written.theta)
    params = assemble(tiny(protection="ckks")).protection().params
    assert read.about["noise"] == release_noise(params, 2)
    added = read.theta.astype(np.float64) - theta_of(folder)
    rounding = np.spacing(np.abs(theta_of(folder))).max()
    assert 0.9 * read.about["noise"] < added.std() < 1.1 * read.about["noise"] + rounding
    assert (read.about["release"], read.about["allowed_releases"], read.about["rounds"]) == (1, MAX_RELEASES, 2)
    assert read.about["preparation"]


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_the_published_model_answers_as_the_runs_own(ended: Callable[..., Path], tiny: Tiny, tmp_path: Path) -> None:
    folder = ended()
    model = release_run(folder, tmp_path / "model.npz")
    clients = assemble(tiny()).federation.clients
    right = [(model.probabilities(c.test.X).argmax(1) == c.test.y).mean() for c in clients]
    summary = json.loads((folder / "summary.json").read_text())
    assert right == pytest.approx(summary["global_accuracy"]["per_client"])


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_a_named_model_that_is_a_module_answers_too(ended: Callable[..., Path], tiny: Tiny, tmp_path: Path) -> None:
    """Only the MLP and the CNN did."""
    changes = {"model": "table", "rounds": 1, "method": "fedavg", "protection": "plaintext"}
    folder = ended(**changes)
    model = release_run(folder, tmp_path / "model.npz")
    clients = assemble(tiny(**changes)).federation.clients
    right = [(model.probabilities(c.test.X).argmax(1) == c.test.y).mean() for c in clients]
    assert right == pytest.approx(json.loads((folder / "summary.json").read_text())["global_accuracy"]["per_client"])


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_releases_are_counted_on_disk_and_end(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder = ended(rounds=1)
    for number in range(MAX_RELEASES):
        assert release_run(folder, tmp_path / f"{number}.npz").about["release"] == number + 1
    with pytest.raises(ValueRejected, match="rotate the cohort key"):
        release_run(folder, tmp_path / "more.npz")
    assert not (tmp_path / "more.npz").exists()
    assert counted(folder) == MAX_RELEASES


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_nothing_is_replaced_or_counted_where_the_file_is_there(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder, out = ended(rounds=1), tmp_path / "model.npz"
    out.write_bytes(b"mine")
    with pytest.raises(BadInput, match="not replaced"):
        release_run(folder, out)
    assert (out.read_bytes(), counted(folder)) == (b"mine", 0)


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_a_plaintext_run_has_no_key_to_protect(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder = ended(protection="plaintext")
    model = release_run(folder, tmp_path / "model.npz")
    np.testing.assert_array_equal(model.theta, theta_of(folder))
    assert (model.about["noise"], model.about["allowed_releases"]) == (0.0, None)


@pytest.mark.parametrize(
    ("method", "why"), [("local", "no common model"), ("fedacs", "no common model"), ("lcfed", "more with a decrypted")]
)
def test_what_the_noise_does_not_fit_is_refused(
    ended: Callable[..., Path], tmp_path: Path, method: str, why: str
) -> None:
    folder = ended(method=method, rounds=1)
    with pytest.raises(BadInput, match=why):
        release_run(folder, tmp_path / "model.npz")
    assert counted(folder) == 0


def test_a_model_without_a_budget_is_published_aloud(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder = ended(rounds=1)
    with pytest.warns(PrivacyWarning, match="without differential privacy"):
        assert release_run(folder, tmp_path / "model.npz").about["privacy"] is None


def test_a_private_one_says_its_budget(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder = ended(rounds=1, dp_epsilon=8.0, dp_delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = release_run(folder, tmp_path / "model.npz")
    assert model.about["privacy"] == {"epsilon": 8.0, "delta": 1e-5}


SHARED = {"dp_noise": "shared", "dp_epsilon": 8.0, "dp_delta": 1e-5, "dp_colluders": 0, "participation": 1.0}


def test_nor_does_it_fit_the_steps_under_shared_noise(ended: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="more with a decrypted"):
        release_run(ended(rounds=1, method="fedavg", **SHARED), tmp_path / "model.npz")


def test_under_shared_noise_it_says_both_numbers_and_what_the_smaller_one_rests_on(
    ended: Callable[..., Path], tmp_path: Path
) -> None:
    folder = ended(rounds=1, method="fedavg", protection="plaintext", **SHARED)
    model = release_run(folder, tmp_path / "model.npz")
    plan = json.loads((folder / "summary.json").read_text())["privacy"]["shared"]
    assert model.about["privacy"] == {
        "unit": "record",
        "epsilon_shared": 8.0,
        "contributors": plan["contributors"],
        "colluders": 0,
        "epsilon_max": plan["epsilon_max_planned"],
        "delta": 1e-5,
    }
    np.testing.assert_array_equal(model.theta, theta_of(folder)[: len(model.theta)])


def test_a_run_that_is_not_over_is_refused(ended: Callable[..., Path], tmp_path: Path) -> None:
    folder = ended(rounds=1)
    (folder / "summary.json").unlink()
    with pytest.raises(BadInput, match="not a finished run"):
        release_run(folder, tmp_path / "model.npz")


def test_other_files_are_no_published_models(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", theta=np.ones(3))
    with pytest.raises(BadInput, match="is not a model"):
        PublishedModel.read(tmp_path / "other.npz")
