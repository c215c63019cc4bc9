"""Passphrases come from a private file, the environment or a hidden prompt, never from an argument."""

import json
import sys
from pathlib import Path

import pytest
import typer

from sapefl_crypto.keys.keyfile import Kind, passphrase, read_key

WORDS = "correct horse battery"


def facts_of(keys, file):
    code, out, _ = keys("inspect", file, "--format", "json")
    assert code == 0
    return json.loads(out)


def files(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


def refused(result):
    """Exit code 2, nothing on stdout, one sentence or two on one line of stderr, no traceback."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("secure-sapefl: ")
    assert err.count("\n") == 1
    return err


def test_passphrase_from_file_protects_identity_and_cohort_key(keys, tmp_path):
    (tmp_path / "words").touch(0o600)
    (tmp_path / "words").write_text(WORDS + "\n")
    keys("site", "--name", "a", "--out", "a.key", "--passphrase-file", "words")
    assert facts_of(keys, "a.key")["protection"] == "scrypt-aes256gcm"
    keys("cohort", "--study", "heart", "--for", "a.pub", "--out", "sealed")
    opening = ("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")
    assert "nobody is here to ask" in refused(keys(*opening))
    assert keys(*opening, "--passphrase-file", "words")[0] == 0
    assert read_key(tmp_path / "heart.key", Kind.COHORT_KEY, passphrase=passphrase(WORDS)).about["study"] == "heart"


def test_passphrase_from_a_hidden_prompt(keys, tmp_path, monkeypatch):
    asked = []

    def prompt(question, **options):
        asked.append(options)
        return WORDS

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    keys("site", "--name", "a", "--out", "a.key", "--ask-passphrase")
    keys("cohort", "--study", "heart", "--for", "a.pub", "--out", "sealed")
    assert keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")[0] == 0
    assert [(kw["hide_input"], kw["confirmation_prompt"]) for kw in asked] == [(True, True), (True, False)]


def test_no_option_takes_a_passphrase(keys):
    code, _, err = keys("site", "--name", "a", "--out", "a.key", "--passphrase", WORDS)
    assert code == 2
    assert "No such option" in err
    assert not files()


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [(0o644, WORDS, "mode 0644"), (0o600, "short\n", "8 characters"), (0o600, "", "8 characters")],
)
def test_unfit_passphrase_files_are_refused(keys, tmp_path, mode, content, said):
    (tmp_path / "words").write_text(content)
    (tmp_path / "words").chmod(mode)
    assert said in refused(keys("site", "--name", "a", "--out", "a.key", "--passphrase-file", "words"))
    assert files() == ["words"]


def test_a_wrong_passphrase_is_refused(keys, monkeypatch):
    monkeypatch.setenv("SAPEFL_PASSPHRASE", WORDS)
    keys("site", "--name", "a", "--out", "a.key")
    keys("cohort", "--study", "heart", "--for", "a.pub", "--out", "sealed")
    monkeypatch.setenv("SAPEFL_PASSPHRASE", "another horse")
    said = refused(keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key"))
    assert "passphrase is wrong" in said
    assert "horse" not in said


def test_a_needless_passphrase_file_is_refused(keys, sealed, tmp_path):
    (tmp_path / "words").touch(0o600)
    (tmp_path / "words").write_text(WORDS)
    opening = ("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key", "--passphrase-file", "words")
    assert "has no passphrase" in refused(keys(*opening))
