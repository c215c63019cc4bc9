"""An audit that looked nothing up must not pass for a clean one."""

import importlib.util
import json
import subprocess
import zipfile
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest

SPEC = importlib.util.spec_from_file_location("check_deps", Path(__file__).parents[2] / "scripts" / "check_deps.py")
check_deps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_deps)


def report(*entries):
    return json.dumps({"dependencies": list(entries), "fixes": []})


CLEAN = {"name": "a", "version": "1.0", "vulns": []}
BAD = {"name": "b", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (1)"}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (report(CLEAN), 0, "1 packages were checked, 0 advisories apply."),
        (report(CLEAN, BAD), 1, "Vulnerable: b 2.0: PYSEC-1, fixed in 2.1"),
        (report(CLEAN, SKIPPED), 2, "1 packages were NOT checked (c)"),
        (report(SKIPPED, SKIPPED), 2, "0 packages were checked"),
        (report(BAD, SKIPPED), 1, "NOT checked"),
        (report(), 2, "NOTHING was checked"),
        ("", 2, "NOTHING was checked"),
        ("connection refused", 2, "could not be asked"),
        ("[]", 2, "NOTHING was checked"),
    ],
)
def test_verdicts(answer, code, words):
    found = check_deps.verdict(answer)
    assert found.exit_code == code
    assert words in "\n".join(found.sentences)


def package(name, version="1.0", **fields):
    metadata = Message()
    metadata["Name"] = name
    for key, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            metadata[key.replace("_", "-")] = one
    return SimpleNamespace(metadata=metadata, version=version)


def test_local_builds_are_audited_as_the_release_they_are():
    installed = [package("torch", "2.13.0+cpu"), package("secure-sapefl"), package("numpy", "2.4.6")]
    assert check_deps.requirements(installed) == ["numpy==2.4.6", "torch==2.13.0"]


def test_licences_are_found_wherever_they_are_declared():
    installed = [
        package("a", License_Expression="MIT"),
        package("b", Classifier=["Topic :: X", "License :: OSI Approved :: BSD License"]),
        package("c", License="Some words\nand a page more"),
        package("d"),
        package("e", License_Expression="MIT", License="ignored"),
    ]
    assert check_deps.by_licence(installed) == {
        "MIT": ["a", "e"],
        "BSD License": ["b"],
        "Some words": ["c"],
        "not declared": ["d"],
    }


def test_pip_audit_is_asked_about_exactly_these(monkeypatch):
    asked = []

    def run(command, **_):
        asked.append(Path(command[command.index("--requirement") + 1]).read_text())
        return SimpleNamespace(stdout="answer")

    monkeypatch.setattr(subprocess, "run", run)
    assert check_deps.audit(["a==1", "b==2"]) == "answer"
    assert asked == ["a==1\nb==2\n"]


def advisory(name, *events, versions=(), **fields):
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": ranges, "versions": list(versions)}
    return {"id": "PYSEC-2", "modified": "2026-03-04T05:06:07Z", "affected": [affected], **fields}


@pytest.mark.parametrize(
    ("record", "vulnerable"),
    [
        (advisory("some.package", {"introduced": "0"}, {"fixed": "2.1"}), True),
        (advisory("Some_Package", {"introduced": "0"}, {"fixed": "2.0"}), False),
        (advisory("some-package", {"fixed": "2.1"}, {"introduced": "2.0"}), True),
        (advisory("some-package", {"introduced": "2.0.1"}), False),
        (advisory("some-package", {"introduced": "0"}, {"last_affected": "2.0"}), True),
        (advisory("some-package", {"introduced": "0"}, {"last_affected": "1.9"}), False),
        (
            advisory("some-package", {"introduced": "0"}, {"fixed": "1.9"}, {"introduced": "2.0"}, {"fixed": "2.2"}),
            True,
        ),
        (advisory("some-package", {"introduced": "0"}, {"fixed": "the next one"}), True),
        (advisory("some-package", {"introduced": "the first"}, {"fixed": "2.1"}), True),
        (advisory("some-package", {"introduced": "0"}, {"fixed": "10.0"}), True),
        (advisory("some-package", versions=["1.9", "2.0"]), True),
        (advisory("some-package", versions=["1.9"]), False),
        (advisory("some-package", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"), False),
        (advisory("another", {"introduced": "0"}), False),
    ],
)
def test_an_export_is_read_as_osv_defines_it(record, vulnerable):
    found = check_deps.verdict(check_deps.look_up([record], ["some-package==2.0", "b==1"]))
    assert (found.checked, bool(found.vulnerable)) == (2, vulnerable)


def test_a_commit_range_says_nothing_of_versions():
    record = advisory("a", {"introduced": "0"}, {"fixed": "3"})
    commits = {"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "f09c261"}]}
    record["affected"][0]["ranges"].append(commits)
    assert check_deps.verdict(check_deps.look_up([record], ["a==1"])).vulnerable == ("a 1: PYSEC-2, fixed in 3",)
    record["affected"][0]["ranges"] = [commits]
    assert not check_deps.verdict(check_deps.look_up([record], ["a==1"])).vulnerable


def test_an_export_names_its_newest_advisory(tmp_path, monkeypatch):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("PYSEC-2.json", json.dumps(advisory("a", {"introduced": "0"}, {"fixed": "3"})))
        archive.writestr("older.json", json.dumps(advisory("b", modified="2025-01-01T00:00:00Z")))
    monkeypatch.setenv("ADVISORIES", str(path))
    found, source = check_deps.checked(["a==1", "b==2"])
    assert found.vulnerable == ("a 1: PYSEC-2, fixed in 3",)
    assert "2 advisories, the newest of 2026-03-04" in source


@pytest.mark.parametrize("content", [None, b"no archive", b""])
def test_what_is_no_export_checks_nothing(content, tmp_path, monkeypatch):
    if content is not None:
        (tmp_path / "all.zip").write_bytes(content)
    monkeypatch.setenv("ADVISORIES", str(tmp_path / "all.zip"))
    found, source = check_deps.checked(["a==1"])
    assert found.exit_code == 2
    assert "is not an export of advisories" in source


def test_an_empty_export_checks_nothing(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "all.zip", "w"):
        pass
    monkeypatch.setenv("ADVISORIES", str(tmp_path / "all.zip"))
    assert check_deps.checked(["a==1"])[0].exit_code == 2
