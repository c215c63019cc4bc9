"""`secure-sapefl keys` from a site's identity to a cohort key in its hands, and everything that must not work."""

import json
import stat
from pathlib import Path

import pytest

from sapefl_crypto import CohortKey
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SitePublicKeys
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


def test_a_site_gets_a_private_file_and_a_public_text(keys, tmp_path):
    code, out, _ = keys("site", "--name", "hospital-a", "--out", "me.key")
    public = SitePublicKeys.from_text((tmp_path / "hospital-a.pub").read_text())
    assert code == 0
    assert public.fingerprint in out
    assert stat.S_IMODE((tmp_path / "me.key").stat().st_mode) == 0o600
    assert files() == ["hospital-a.pub", "me.key"]


def test_the_cohort_key_reaches_every_site_and_stays_nowhere_else(keys, sealed, tmp_path):
    for name in "ab":
        code, out, _ = keys("open", f"sealed/{name}.sealed", "--identity", f"{name}.key", "--out", f"{name}-heart.key")
        assert code == 0
        assert "compare it with the custodian" in out
    opened = [read_key(tmp_path / f"{name}-heart.key", Kind.COHORT_KEY) for name in "ab"]
    assert opened[0].body.reveal() == opened[1].body.reveal()
    assert opened[0].about["fingerprint"] in sealed
    assert CohortKey.from_secret(opened[0].body.reveal()).params.max_clients == 2
    assert files("sealed") == ["a.sealed", "b.sealed"]
    assert stat.S_IMODE((tmp_path / "a-heart.key").stat().st_mode) == 0o600


def test_the_sealed_copies_do_not_contain_the_key(keys, sealed, tmp_path):
    keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")
    kept = json.loads((tmp_path / "heart.key").read_text())["body"]
    assert kept[:60] not in (tmp_path / "sealed" / "a.sealed").read_text()


def test_the_expected_fingerprint_is_checked(keys, sealed):
    expected = facts_of(keys, "sealed/a.sealed")["fingerprint"]
    opening = ("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key", "--fingerprint")
    assert "ask the custodian" in refused(keys(*opening, "0000-0000"))
    assert "heart.key" not in files()
    code, out, _ = keys(*opening, expected.upper())
    assert code == 0
    assert "as expected" in out


def test_keep_writes_the_same_key_protected(keys, two_sites, tmp_path, monkeypatch):
    monkeypatch.setenv("SAPEFL_PASSPHRASE", WORDS)
    keys("cohort", "--study", "heart", "--for", "a.pub", "--out", "sealed", "--max-clients", "16", "--keep", "kept.key")
    monkeypatch.delenv("SAPEFL_PASSPHRASE")
    keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")
    kept = read_key(tmp_path / "kept.key", Kind.COHORT_KEY, passphrase=passphrase(WORDS))
    assert kept.body.reveal() == read_key(tmp_path / "heart.key", Kind.COHORT_KEY).body.reveal()
    assert kept.about["max_clients"] == 16


def test_inspect_says_what_a_file_is(keys, sealed):
    identity, copy, public = (facts_of(keys, file) for file in ("a.key", "sealed/a.sealed", "a.pub"))
    assert (identity["kind"], identity["name"], identity["protection"]) == ("site-identity", "a", "none")
    assert (copy["kind"], copy["study"], copy["site"], copy["max_clients"]) == ("sealed-cohort-copy", "heart", "a", 2)
    assert (public["kind"], public["fingerprint"]) == ("site-public-keys", identity["fingerprint"])


@pytest.mark.parametrize("form", ["table", "json"])
def test_no_output_says_a_secret(keys, sealed, tmp_path, form):
    said = sealed + "".join(keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")[1:])
    for file in ("a.key", "heart.key", "sealed/a.sealed"):
        said += keys("inspect", file, "--format", form)[1]
        assert json.loads((tmp_path / file).read_text())["body"][:40] not in said
    assert "a.sealed" in said
    assert "cohort-key" in said


def test_control_sequences_and_markup_in_a_file_stay_text(keys, sealed, tmp_path):
    path = tmp_path / "sealed" / "a.sealed"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"about": {"study": "[red]heart[/red]"}}))
    assert "[red]heart[/red]" in keys("inspect", path)[1]
    path.write_text(json.dumps(document | {"about": {"study": "\x1b]0;owned\x07"}}))
    assert "\x1b" not in refused(keys("inspect", path))


@pytest.mark.parametrize("taken", ["a.key", "a.pub"])
def test_existing_identities_stay(keys, tmp_path, taken):
    (tmp_path / taken).write_text("precious")
    assert "--overwrite" in refused(keys("site", "--name", "a", "--out", "a.key"))
    assert (files(), (tmp_path / taken).read_text()) == ([taken], "precious")
    assert keys("site", "--name", "a", "--out", "a.key", "--overwrite")[0] == 0
    assert (tmp_path / taken).read_text() != "precious"


def test_existing_copies_stay(keys, sealed, tmp_path):
    before = (tmp_path / "sealed" / "b.sealed").read_bytes()
    again = ("cohort", "--study", "heart", "--for", "b.pub", "--out", "sealed")
    assert "--overwrite" in refused(keys(*again))
    assert (tmp_path / "sealed" / "b.sealed").read_bytes() == before
    assert keys(*again, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("site", "--name", "../a", "--out", "x.key"), "no site name"),
        (("site", "--name", "x", "--out", "x.pub"), "another name"),
        (("site", "--name", "x", "--out", "absent/x.key"), "absent/x.key cannot be written"),
        (("site", "--name", "x", "--out", ".", "--overwrite"), "cannot be written"),
        (("cohort", "--study", "s", "--for", "absent.pub", "--out", "new"), "absent.pub cannot be read"),
        (("cohort", "--study", "s", "--for", "a.key", "--out", "new"), "a.key: This is not a site's public key"),
        (("cohort", "--study", "s", "--for", "a.pub", "--for", "a.pub", "--out", "new"), "More than one --for"),
        (("cohort", "--study", " ", "--for", "a.pub", "--out", "new"), "study's name"),
        (("cohort", "--study", "s\x1b", "--for", "a.pub", "--out", "new"), "printable"),
        (("cohort", "--study", "s", "--for", "a.pub", "--for", "b.pub", "--out", "new", "--max-clients", "1"), "room"),
        (("cohort", "--study", "s", "--for", "a.pub", "--out", "new", "--max-abs-value", "-1"), ""),
        (("cohort", "--study", "s", "--for", "a.pub", "--out", "a.key"), "Cannot write to a.key"),
        (("cohort", "--study", "s", "--for", "a.pub", "--out", "new", "--keys", "joint"), "'a' alone has nobody"),
        (("open", "sealed/b.sealed", "--identity", "a.key", "--out", "x.key"), "sealed for 'b'"),
        (("open", "a.key", "--identity", "a.key", "--out", "x.key"), "holds a site-identity"),
        (("open", "sealed/a.sealed", "--identity", "a.pub", "--out", "x.key"), "not a key file"),
        (("open", "sealed/a.sealed", "--identity", "absent.key", "--out", "x.key"), "cannot be read"),
        (("inspect", "absent.key"), "cannot be read"),
        (("inspect", "sealed"), "not a key file"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(keys, sealed, arguments, said):
    before = files()
    assert said in refused(keys(*arguments))
    assert [name for name in files() if name != "new" or files("new")] == before


def test_a_private_file_open_to_others_is_refused(keys, sealed, tmp_path):
    (tmp_path / "a.key").chmod(0o640)
    for arguments in (
        ("inspect", "a.key"),
        ("open", "sealed/a.sealed", "--identity", "a.key", "--out", "x.key"),
    ):
        assert "mode 0640" in refused(keys(*arguments))


@pytest.mark.parametrize("command", ["site", "cohort", "open", "inspect"])
def test_help_has_worked_examples(keys, command):
    code, out, _ = keys(command, "--help")
    assert code == 0
    assert out.count(f"secure-sapefl keys {command}") >= 3


def test_with_joint_keys_the_copies_hold_the_root_of_the_tags(keys, tmp_path):
    for name in "abc":
        keys("site", "--name", name, "--out", f"{name}.key")
    given = [word for name in "abc" for word in ("--for", f"{name}.pub")]
    code, _, _ = keys("cohort", "--study", "heart", "--keys", "joint", *given, "--out", "sealed")
    assert code == 0
    assert facts_of(keys, "sealed/a.sealed")["keys"] == "joint"
    keys("open", "sealed/a.sealed", "--identity", "a.key", "--out", "heart.key")
    root = read_key(tmp_path / "heart.key", Kind.COHORT_KEY).body.reveal()
    assert len(TagRoot.from_secret(root).fingerprint) == 16
