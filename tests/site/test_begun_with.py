"""A site goes on with the rows it began with, or its owner says that others are meant."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sapefl_crypto import SiteIdentity
from secure_sapefl.cli.app import app
from secure_sapefl.data.federation import ClientData, Rows
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site import runner
from secure_sapefl.site.begun_with import digest_of, have_changed, keep, require_same
from secure_sapefl.site.consent import approve
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.study.file import StudyFile


def rows(first: float = 0.0) -> ClientData:
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    X[0, 0] = first
    y = np.array([0, 1, 0, 1])
    return ClientData(name="a", train=Rows(X[:3], y[:3]), test=Rows(X[3:], y[3:]))


def test_one_value_or_label_or_its_place_makes_another_digest() -> None:
    mine, y = rows(), np.array([1, 1, 0])
    other_label = ClientData(name="a", train=Rows(mine.train.X, y), test=mine.test)
    moved = ClientData(name="a", train=mine.test, test=mine.train)
    assert len({digest_of(mine), digest_of(rows(1e-6)), digest_of(other_label), digest_of(moved)}) == 4
    assert digest_of(rows()) == digest_of(mine)


def test_nothing_is_on_record_before_the_first_start(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    require_same(path, rows(), tmp_path / "table.csv")
    keep(path, rows())
    require_same(path, rows(), tmp_path / "table.csv")
    assert have_changed(path, rows(1.0))
    with pytest.raises(HomeRejected, match=r"table\.csv are not those this site began the study with.*--data-changed"):
        require_same(path, rows(1.0), tmp_path / "table.csv")


def test_a_table_replaced_between_two_starts_is_noticed_and_on_record_where_it_is_meant(
    home: SiteHome,
    study: StudyFile,
    write_study: Callable[[StudyFile], Path],
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_study(study)
    approve(home, path, identities[0])
    monkeypatch.setattr(SiteHome, "cohort_key", lambda *_: None)
    monkeypatch.setattr(runner, "AgentSocket", lambda *_: None)
    monkeypatch.setattr(runner, "_serve", lambda *_: None)

    def start(*more: str) -> None:
        words = ["site", "start", "--study", str(path), "--home", str(home.path), "--server", "127.0.0.1:1"]
        CliRunner().invoke(app, [*words, "--without-tls", *more], catch_exceptions=False)

    def notes() -> list[str]:
        return [entry.event.note for entry in LedgerFiles(home.ledger_path).read(home.public).entries]

    start()
    start()
    lines = home.data_path.read_text().splitlines()
    home.data_path.write_text("\n".join(lines[:-1]) + "\n")
    before = notes()
    with pytest.raises(HomeRejected, match="not those this site began"):
        start()
    assert notes() == before
    start("--data-changed")
    assert "the owner goes on with other records than the study was begun with" in notes()
    start()
