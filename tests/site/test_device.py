"""A site trains where its owner says, or where it can."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from sapefl_crypto import CohortKey, SiteIdentity
from secure_sapefl.cli.app import app
from secure_sapefl.engine import sites as engine_sites
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import Invitation
from secure_sapefl.site import runner
from secure_sapefl.site.consent import approve
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


def start(study: Path, home: SiteHome, device: str) -> None:
    arguments = ["site", "start", "--study", str(study), "--home", str(home.path), "--server", "127.0.0.1:1"]
    CliRunner().invoke(app, [*arguments, "--without-tls", "--device", device], catch_exceptions=False)


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("cuda", "Device 'cuda' was asked for and is not there"),
        ("cuda:7", "'cuda:7'"),
        ("gpu", "a device is auto, cpu"),
    ],
)
def test_a_device_that_is_not_there_is_said_before_anything_happens(
    home: SiteHome,
    study: StudyFile,
    write_study: Callable[[StudyFile], Path],
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    path = write_study(study)
    approve(home, path, identities[0])
    before = LedgerFiles(home.ledger_path).read(home.public).entries
    with pytest.raises(BadInput, match=sentence) as refused:
        start(path, home, device)
    assert refused.value.exit_code == 2
    assert LedgerFiles(home.ledger_path).read(home.public).entries == before


class Reached(Exception):
    """How far the test goes: past it a card would be needed."""


@pytest.mark.parametrize(("asked", "used"), [("auto", "cuda"), ("cuda:1", "cuda:1"), ("cpu", "cpu")])
def test_rows_are_put_where_the_owner_said(
    home: SiteHome,
    study: StudyFile,
    write_study: Callable[[StudyFile], Path],
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    used: str,
) -> None:
    def placed(engine: str, model: object, device: torch.device) -> Any:
        raise Reached(str(device))

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(engine_sites, "make_trainer", placed)
    monkeypatch.setattr(runner, "require_approved", lambda *_: None)
    monkeypatch.setattr(SiteHome, "cohort_key", lambda *_: None)
    with pytest.raises(Reached, match=f"^{used}$"):
        start(write_study(study), home, asked)


def test_the_global_model_visits_the_device_and_is_kept_in_main_memory(
    make_study: Callable[..., StudyFile], home: SiteHome
) -> None:
    study = make_study(method="fedavg")
    params = StudyTerms.from_file(study).params
    rows = load_site(home.data_path, study, "a")
    site = StudySite(StudyTerms.from_file(study), rows, CohortKey.generate(params), home.policy(), None)
    state = site.first_state()
    site.device = torch.device("meta")  # a place that is not main memory and that every machine has
    invitation = Invitation(site="a", round_index=0, peers=(), models=())
    group, _ = site._group(state, invitation)  # what comes after it needs a card
    assert (group.theta_global.device.type, state.theta_global.device.type) == ("meta", "cpu")
