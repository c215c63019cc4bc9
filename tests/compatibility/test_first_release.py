"""What release 0.1.0 left on disk opens, or is refused by a sentence that says what to do.

The files were made by that release: `run/` by `simulate --dataset mine.csv --label outcome --group hospital --rounds 2
--local-epochs 1`, the rest by `loopback.sh` with two rounds on mock data. Identity and records are nobody's.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

from secure_sapefl.cli.app import main
from secure_sapefl.errors import LedgerRejected
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.spending import require_on_record
from tests.unrendered import unrendered

__all__ = ["unrendered"]
pytestmark = pytest.mark.usefixtures("unrendered")
FILES = Path(__file__).parent / "0.1.0"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A copy of the files, as private as they were."""
    place = shutil.copytree(FILES, tmp_path / "old")
    about = place / "site" / "site.toml"
    about.write_text(about.read_text().replace("records.csv", str(place / "records.csv")))
    for path in (place / "site", place / "server", *place.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def printed(monkeypatch, capsys):
    """What the command line says, on both streams."""

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code or 0) == code, said.err
        return " ".join((said.out + said.err).split()) if code else said.out

    return run


def test_a_sites_ledger_is_whole_to_the_last_digest(old, printed):
    assert "Lines: 7" in printed("site", "ledger", "--home", "site", "--verify")


def test_what_a_site_has_spent_still_counts(old):
    home = SiteHome(old / "site")
    with FileStore(home.privacy_path) as store:
        events = store.load()
    assert {event.round_index for event in events} == {0, 1}
    require_on_record(home, events)
    with pytest.raises(LedgerRejected, match="lines were removed"):
        require_on_record(home, events[:1])


def test_a_sites_own_model_still_answers(old, printed):
    lines = printed("site", "predict", "records.csv", "--home", "site").splitlines()
    assert len(lines) == len((old / "records.csv").read_text().splitlines())


def test_a_study_is_refused_with_what_to_do(old, printed):
    (study,) = (old / "site" / "studies").glob("*/study.toml")
    for command in (("site", "review"), ("site", "approve")):
        words = printed(*command, study, "--home", "site", code=2)
        assert "made for secure-sapefl 0.1.0" in words
        assert "ask the coordinator for a new study" in words


def test_a_servers_state_can_be_looked_at(old, printed):
    assert json.loads(printed("server", "status", "--state", "server", "--format", "json"))["closed"] == 2


def test_a_finished_run_can_be_shown_and_repeated(old, printed):
    printed("report", "run")
    assert "<html" in (old / "run" / "report.html").read_text()
    printed("simulate", "--config", "run/config.toml", "--rounds", "1", "--quiet", "--out", "again")
    assert json.loads((old / "again" / "summary.json").read_text())["clients"] == 3


def test_a_run_is_not_continued_by_another_release(old, printed):
    (old / "run" / "summary.json").unlink()
    assert "0.1.0" in printed("simulate", "--resume", "run", code=2)
