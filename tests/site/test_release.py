"""A site publishes the common model: counted in its ledger first, with its part of the sixteen releases of a key."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sapefl_crypto import CohortKey, SiteIdentity
from sapefl_crypto.keys.custody import cohort_record, seal_copy
from sapefl_crypto.keys.keyfile import write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.cli.app import main
from secure_sapefl.engine.published import PublishedModel
from secure_sapefl.errors import BadInput, Busy, HomeRejected
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.release import release_from_site
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


@pytest.fixture
def terms(study: StudyFile) -> StudyTerms:
    return StudyTerms.from_file(study)


@pytest.fixture
def ready(home: SiteHome, terms: StudyTerms, identities: list[SiteIdentity], tmp_path: Path) -> SiteHome:
    """Two rounds are over, and the cohort key is here."""
    secret = Secret(CohortKey.generate(terms.params).export_secret())
    record = cohort_record(secret, study="heart", parameters=asdict(terms.params))
    write_key(tmp_path / "sealed", seal_copy(record, identities[0].public))
    home.take_cohort_key(tmp_path / "sealed", str(record.about["fingerprint"]))
    save(home, terms, absorbed=1)
    return home


def save(home: SiteHome, terms: StudyTerms, absorbed: int) -> None:
    count = terms.blueprint.model.parameters
    theta = torch.from_numpy(np.random.default_rng(0).normal(0, 0.2, count).astype(np.float32))
    home.study_folder(terms.file.digest).mkdir(mode=0o700, exist_ok=True)
    SiteState(study=terms.file.digest, site="a", absorbed=absorbed, answered=absorbed, theta_global=theta, own={}).save(
        home.state_path(terms.file.digest)
    )


def published(home: SiteHome) -> list[Any]:
    entries = LedgerFiles(home.ledger_path).read(home.public).entries
    return [entry.event for entry in entries if entry.event.kind == "published"]


def test_the_ledger_has_it_before_the_world(ready: SiteHome, terms: StudyTerms, tmp_path: Path) -> None:
    out = tmp_path / "model.npz"
    model = release_from_site(ready, terms, None, out)
    (event,) = published(ready)
    assert (event.study, event.round_index, event.size) == (terms.file.digest, 1, out.stat().st_size)
    assert event.note == "1 of 5 releases"
    read = PublishedModel.read(out)
    np.testing.assert_array_equal(read.theta, model.theta)
    assert read.about["privacy"] == {"epsilon": 4.0, "delta": 1e-5}
    assert read.about["preparation"]["features"][0]["name"] == "age"
    assert read.probabilities(np.zeros((2, 4))).shape == (2, 2)
    state = SiteState.load(ready.state_path(terms.file.digest), study=terms.file.digest, site="a")
    assert 0 < np.abs(read.theta - state.theta_global.numpy()).max() < 1e-4


def test_three_sites_share_sixteen_releases(ready: SiteHome, terms: StudyTerms, tmp_path: Path) -> None:
    for number in range(5):
        release_from_site(ready, terms, None, tmp_path / f"{number}.npz")
    with pytest.raises(HomeRejected, match="this one has had its part"):
        release_from_site(ready, terms, None, tmp_path / "more.npz")
    assert len(published(ready)) == 5
    assert not (tmp_path / "more.npz").exists()


def test_with_joint_keys_it_is_the_model_itself_and_as_often_as_one_likes(
    home: SiteHome, make_study: Callable[..., StudyFile], tmp_path: Path
) -> None:
    """There is no cohort key here at all; and a server's momentum, for which no noise is sized, is no matter."""
    momentum = {"method": "fedavg", "server_momentum": 0.9, "privacy": {"epsilon": 4, "delta": 1e-5}}
    terms = StudyTerms.from_file(make_study(keys="joint", **momentum))
    save(home, terms, absorbed=1)
    for number in range(1, 18):
        model = release_from_site(home, terms, None, tmp_path / f"{number}.npz")
    state = SiteState.load(home.state_path(terms.file.digest), study=terms.file.digest, site="a")
    np.testing.assert_array_equal(model.theta, state.theta_global.numpy())
    assert (model.about["noise"], model.about["release"], model.about["allowed_releases"]) == (0.0, 17, None)
    assert published(home)[-1].note == "17 of any number of releases"
    shared = StudyTerms.from_file(make_study(**momentum))
    with pytest.raises(BadInput, match="the noise of a release does not fit"):
        release_from_site(home, shared, None, tmp_path / "another.npz")


def test_a_file_that_is_there_costs_nothing(ready: SiteHome, terms: StudyTerms, tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(b"mine")
    with pytest.raises(BadInput, match="not replaced"):
        release_from_site(ready, terms, None, tmp_path / "model.npz")
    assert published(ready) == []


def test_while_the_agent_runs_its_ledger_is_its_own(
    ready: SiteHome, terms: StudyTerms, identities: list[SiteIdentity], tmp_path: Path
) -> None:
    with SiteLedger(ready.ledger_path, identities[0]), pytest.raises(Busy):
        release_from_site(ready, terms, None, tmp_path / "model.npz")


def test_before_a_round_is_over_there_is_nothing_to_publish(ready: SiteHome, terms: StudyTerms, tmp_path: Path) -> None:
    save(ready, terms, absorbed=-1)
    with pytest.raises(HomeRejected, match="no common model of study 'heart' yet"):
        release_from_site(ready, terms, None, tmp_path / "model.npz")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["secure-sapefl", "release", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_from_the_command_line(
    ready: SiteHome, write_study: Any, study: StudyFile, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = write_study(study)
    assert call(monkeypatch, ready.path, "--study", file, "--out", tmp_path / "one.npz") == 0
    assert "This is release 1 of 5" in capsys.readouterr().out
    assert call(monkeypatch, ready.path, "--study", file, "--out", tmp_path / "two.npz", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["release"] == 2
