"""`site start`: where a site trains, and what it tells about itself; tests/processes has its processes."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from sapefl_crypto import FrameRejected, SiteIdentity
from secure_sapefl.cli.app import app
from secure_sapefl.engine import sites as engine_sites
from secure_sapefl.errors import BadInput
from secure_sapefl.site import runner
from secure_sapefl.site.consent import approve
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.expiry import CertificateWatch


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


def test_what_a_site_tells_about_itself(world: Callable[..., Any], tmp_path: Path) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    agent = deployed.agents["north"]
    running = runner.RunningSite(
        deployed.file, agent, SimpleNamespace(restarts=2), tmp_path / "status.json", "cpu", CertificateWatch(None)
    )
    assert running.status()["last_letter"] is None
    running.answer(deployed.server.next_message(0))
    with pytest.raises(FrameRejected):
        running.answer((b"noise",))
    running.publish(running=False)
    told = json.loads((tmp_path / "status.json").read_bytes())
    assert (told["site"], told["rounds"], told["letters"], told["refused_letters"]) == ("north", 1, 1, 1)
    assert (told["pid"], told["relay_restarts"], told["halted"], told["over"]) == (None, 2, None, False)
    assert running.status()["pid"] is not None


def test_rounds_of_which_something_left_are_those_the_ledger_names(
    home: SiteHome, study: StudyFile, identities: list[SiteIdentity]
) -> None:
    with SiteLedger(home.ledger_path, identities[0]) as ledger:
        for index in (0, 2):
            ledger.append(SiteEvent(kind="sent", study=study.digest, round_index=index))
        ledger.append(SiteEvent(kind="sent", study="0" * 64, round_index=1))
        ledger.append(SiteEvent(kind="refused", study=study.digest, round_index=3))
    assert runner._rounds_sent(home, study) == {0, 2}
    assert not runner._was_over(home, study)
