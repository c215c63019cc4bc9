"""A programme of studies goes on: one site has a new key, another is replaced, and nobody's budget is forgotten.

What is typed is docs/operations.md, line by line.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.home import SiteHome
from secure_sapefl.study.file import read_study
from secure_sapefl.study.mock import mock_file

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8").replace("\\\n", " ")
SITES = ("north", "east", "south")


def run(line: str) -> str:
    found = CliRunner().invoke(app, shlex.split(line), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def typed(beginning: str, **changed: str) -> str:
    """The one line of the page that begins so, with words changed."""
    (line,) = {" ".join(one.split()) for one in PAGE.splitlines() if one.startswith(f"secure-sapefl {beginning}")}
    for old, new in changed.items():
        line = line.replace(old.upper(), new)
    return run(line.removeprefix("secure-sapefl "))


def fingerprint_of(said: str) -> str:
    return re.findall(r"Cohort key fingerprint: (\S+)", said)[0]


@pytest.fixture
def programme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Three sites after the first study, one of which has spent."""
    monkeypatch.chdir(tmp_path)
    for name in ("coordinator", *SITES):
        run(f"keys site --name {name} --out {name}.key")
    public = " ".join(f"--for {name}.pub" for name in SITES)
    fingerprint = fingerprint_of(run(f"keys cohort --study heart {public} --out sealed"))
    run(
        "study new --name heart --coordinator coordinator.key --feature age:0..120 --label y --class no --class yes "
        "--largest-site 100 --epsilon 4 --delta 1e-5 --out study.toml " + " ".join(f"--site {n}.pub" for n in SITES)
    )
    study = read_study(tmp_path / "study.toml")
    for name in SITES:
        (tmp_path / f"{name}.csv").write_bytes(mock_file(study.data, 120, seed=1, place=SITES.index(name)))
        words = f"--identity {name}.key --data {name}.csv --sealed sealed/{name}.sealed --fingerprint {fingerprint}"
        run(f"site init --home {name} {words}")
        run(f"site approve study.toml --home {name}")
    spent = Event(
        mechanism="gaussian", release="update", noise_multiplier=3.0, sample_rate=1.0, steps=1, round_index=0,
        study=study.wire_name,
    )  # fmt: skip
    with FileStore(tmp_path / "north" / "privacy.jsonl") as store:
        store.append([spent])
    return study


def test_the_page_leads_from_one_study_to_the_next(programme: Any, tmp_path: Path) -> None:
    run("site withdraw study.toml --home north")  # or the study has ended
    (tmp_path / "2027").mkdir()
    typed("keys site --name north")
    typed("site rotate --home north")
    run("keys site --name west --out west.key")
    hint = typed("study next study.toml")
    assert "--study heart-2 --for 2027/north.pub --for west.pub --for south.pub --out sealed" in hint
    made = read_study(tmp_path / "study-2.toml")
    assert made.sites == ("north", "west", "south")
    assert made.keys_by_name["north"] == SiteHome(tmp_path / "north").public
    fingerprint = fingerprint_of(typed("keys cohort --study heart-2"))
    typed("site key sealed-2/north.sealed", fingerprint=fingerprint)
    found = json.loads(run("site review study-2.toml --home north --format json"))
    assert {line["verdict"] for line in found["lines"]} <= {"ok", "note"}
    (lifetime,) = (line["says"] for line in found["lines"] if line["topic"] == "epsilon over all studies")
    assert "spent on 1 earlier studies" in lifetime
    typed("site approve study-2.toml")


def test_a_place_is_named_with_its_key(programme: Any) -> None:
    with pytest.raises(BadInput, match=r"write NAME=FILE\.pub"):
        run("study next study.toml --name heart-2 --coordinator coordinator.key --replace north")
