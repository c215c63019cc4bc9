"""An audit that looked nothing up must not pass for a clean one."""

import importlib.util
import json
import subprocess
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
