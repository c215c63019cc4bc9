"""`secure-sapefl audit` and `simulate --audit`: what they print, where, and how they end."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.audit.findings import Alarm, Findings
from secure_sapefl.cli.app import main

STUDY = (
    *("--clients", "4", "--rounds", "2", "--local-epochs", "1", "--rows", "300", "--workers", "0", "--quiet"),
    *("--format", "json"),
)


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    monkeypatch.chdir(tmp_path)
    return command


def test_an_audit_prints_one_document_and_renews_the_report(run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("simulate", *STUDY, "--out", "mine")[0] == 0
    code, out, err = run("audit", "mine", "--references", "2", "--canaries", "20", "--format", "json")
    assert code == 0
    assert json.loads(out) == json.loads(Path("mine/audit.json").read_text())
    assert "audit 8/8" in err
    page = Path("mine/report.html").read_text()
    assert "Privacy audit" in page
    assert "the server with the key of" in page


def test_a_table_for_people_and_a_code_for_broken_promises(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Findings, "alarms", (Alarm("key search", "A key can be reached from the server."),))
    monkeypatch.setattr("secure_sapefl.cli.audit._CANARIES", 20)
    monkeypatch.setattr("secure_sapefl.cli.audit._REFERENCES", 2)
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    code, out, _ = run("simulate", *STUDY[:-2], "--audit", "--out", "mine")
    assert code == 3
    assert "no model in sight" in out
    assert "A key can be reached from the server." in out
    assert "The run promised no budget." in " ".join(out.split())


@pytest.mark.parametrize(("folder", "sentence"), [("nowhere", "is not a folder"), (".", "is not the folder of a run")])
def test_bad_input_is_a_sentence(run: Callable[..., tuple[int, str, str]], folder: str, sentence: str) -> None:
    code, out, err = run("audit", folder)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_help_has_examples(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("audit", "--help")
    assert code == 0
    assert "secure-sapefl audit runs/mine" in out
