"""The long tests in parts: each part's result is kept, and only what has not passed on this commit is stale."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("slow", ROOT / "scripts" / "slow.py")
slow = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(slow)

GOOD, BAD = "tests/test_good.py", "tests/test_bad.py"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one slow test that passes, one that fails, and a fast one."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: long\n")
    mark = "import pytest\n@pytest.mark.slow\n"
    (tmp_path / GOOD).write_text(f"{mark}def test_one(): assert True\ndef test_fast(): assert False\n")
    (tmp_path / BAD).write_text(f"{mark}def test_two(): assert False\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "t"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # these tests need none, and importing them takes longest
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    monkeypatch.setattr(slow, "RECORD", tmp_path / ".slow.json")
    return tmp_path


def test_every_part_is_run_and_remembered(checkout, capfd):
    assert slow.main([]) == 1
    kept = json.loads((checkout / ".slow.json").read_text())
    assert kept[GOOD]["result"] == "passed"
    assert kept[BAD]["result"] == "failed (pytest exit 1)"
    last = capfd.readouterr().out.splitlines()[-2:]
    assert [line.split()[0] for line in last] == [BAD, GOOD]
    assert "1 tests  passed" in last[1]


@pytest.mark.slow
def test_only_what_has_not_passed_here_is_stale(checkout, capfd):
    slow.main([GOOD])
    capfd.readouterr()
    assert slow.main(["--stale"]) == 1
    out = capfd.readouterr().out
    assert f"part 1 of 1: {BAD}" in out
    assert f": {GOOD}" not in out


def test_a_list_runs_nothing(checkout, capfd):
    assert slow.main(["--list"]) == 0
    assert capfd.readouterr().out.count("never run here") == 2


def test_a_changed_file_makes_a_result_stale():
    assert not slow.is_stale({"result": "passed", "commit": "abc"}, "abc")
    assert slow.is_stale({"result": "passed", "commit": "abc"}, "abc*")
    assert slow.is_stale(None, "abc")


def test_help_says_how(capsys):
    with pytest.raises(SystemExit):
        slow.main(["--help"])
    assert "--stale" in capsys.readouterr().out
