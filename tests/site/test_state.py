"""What a site keeps between rounds: written whole, read only for the study and site it belongs to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.errors import HomeRejected, OutputFailed
from secure_sapefl.site.state import SiteState

STATE = SiteState(
    study="9f" * 32,
    site="a",
    absorbed=3,
    answered=4,
    theta_global=torch.arange(5, dtype=torch.float32),
    own={"theta_personal": torch.ones(1, 5), "cluster": torch.tensor([2])},
)


def load(path: Path) -> SiteState:
    return SiteState.load(path, study="9f" * 32, site="a")


def test_it_comes_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    STATE.save(path)
    found = load(path)
    assert (found.study, found.site, found.absorbed, found.answered) == ("9f" * 32, "a", 3, 4)
    assert torch.equal(found.theta_global, STATE.theta_global)
    assert found.own.keys() == STATE.own.keys()
    assert all(torch.equal(found.own[name], tensor) for name, tensor in STATE.own.items())
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("changes", "untrained"),
    [
        ({}, False),
        ({"answered": -1}, True),
        ({"answered": -1, "over": True}, False),
        ({"answered": -1, "own": {}}, False),
    ],
)
def test_whether_there_is_a_model_to_use(tmp_path: Path, changes: dict[str, Any], untrained: bool) -> None:
    replace(STATE, **changes).save(tmp_path / "state.npz")
    assert load(tmp_path / "state.npz").untrained == untrained
    assert load(tmp_path / "state.npz").over == ("over" in changes)


def test_saving_again_replaces_it_and_leaves_nothing_else(tmp_path: Path) -> None:
    for _ in range(2):
        STATE.save(tmp_path / "state.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def test_of_another_study_or_site_it_is_refused(tmp_path: Path) -> None:
    STATE.save(tmp_path / "s.npz")
    for study, site in (("00" * 32, "a"), ("9f" * 32, "b")):
        with pytest.raises(HomeRejected, match="is the state of 'a' in study 9f9f"):
            SiteState.load(tmp_path / "s.npz", study=study, site=site)


@pytest.mark.parametrize("keep", [0, 10, -30])
def test_damage_is_said(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "s.npz"
    STATE.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(HomeRejected, match="is damaged"):
        load(path)


def test_an_archive_that_is_something_else(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", X=np.zeros(3))
    with pytest.raises(HomeRejected, match="is damaged"):
        load(tmp_path / "s.npz")
    np.savez(tmp_path / "s.npz", about=np.array("{}"), theta_global=np.zeros(3))
    with pytest.raises(HomeRejected, match="is damaged"):
        load(tmp_path / "s.npz")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="cannot be written"):
        STATE.save(tmp_path / "none" / "s.npz")
