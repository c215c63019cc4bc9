"""`secure-sapefl study` from keys to a signed file, and everything that must not work."""

import json
import sys
from pathlib import Path

import pytest

from secure_sapefl.cli.app import main
from secure_sapefl.site.data import federation
from secure_sapefl.study.file import read_study

SCHEMA = ("--feature", "age:0..120", "--feature", "sex:f|m", "--label", "ill", "--class", "no", "--class", "yes")
KEYS = ("--coordinator", "coordinator.key", "--site", "a.pub", "--site", "b.pub", "--site", "c.pub")
NEW = ("study", "new", *KEYS, "--name", "heart", "--largest-site", "80", *SCHEMA)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run ``secure-sapefl ...`` in an empty folder; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SAPEFL_PASSPHRASE", raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *map(str, arguments)])
        with pytest.raises(SystemExit) as finished:
            main()
        said = capsys.readouterr()
        return finished.value.code, said.out, said.err

    return call


@pytest.fixture
def keys(run):
    for name in ("coordinator", "a", "b", "c"):
        assert run("keys", "site", "--name", name, "--out", f"{name}.key")[0] == 0


@pytest.fixture
def study(run, keys):
    assert run(*NEW, "--epsilon", "4", "--delta", "1e-5", "--purpose", "Find risks")[0] == 0
    return Path("study.toml")


def refused(result):
    """Exit code 2, nothing on stdout, one line of stderr, no traceback."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("secure-sapefl: ")
    assert err.count("\n") == 1
    return err


def test_a_study_is_made_signed_and_verified(run, study):
    found = read_study(study)
    assert (found.sites, found.rounds, found.privacy.epsilon) == (("a", "b", "c"), 10, 4)
    code, out, _ = run("study", "verify", study)
    assert code == 0
    assert "The signature of 'coordinator' holds" in out
    assert found.digest in out
    assert found.sites_keys[0].fingerprint in out
    code, out, _ = run("study", "verify", study, "--format", "json", "--digest", found.digest[:12])
    assert (code, json.loads(out)["digest"]) == (0, found.digest)


def test_verify_compares_with_what_the_coordinator_said(run, study):
    fingerprint = read_study(study).coordinator_keys.fingerprint
    assert run("study", "verify", study, "--fingerprint", fingerprint)[0] == 0
    assert "channel you trust" in refused(run("study", "verify", study, "--fingerprint", "0000-1111"))
    assert "another version" in refused(run("study", "verify", study, "--digest", "0" * 12))


def test_a_changed_file_is_refused_by_every_command(run, study):
    study.write_text(study.read_text().replace("rounds = 10", "rounds = 11"))
    for command in ("verify", "show"):
        assert "does not hold for this study" in refused(run("study", command, study))


def test_a_study_is_shown_to_people_and_programs(run, study):
    code, out, _ = run("study", "show", study)
    assert code == 0
    for sentence in ("Find risks", "SAPE-FL", "Who sees what", "at most ε 4", "not protected"):
        assert sentence in out
    code, out, _ = run("study", "show", study, "--format", "json")
    assert json.loads(out)["study"]["name"] == "heart"
    code, out, _ = run("study", "show", study, "--for", "data-officer")
    assert out.startswith("# Data protection note: study heart")


def test_options_win_over_a_draft(run, keys):
    Path("draft.toml").write_text(
        'name = "heart"\nrounds = 3\nlargest_site = 9\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n[data]\nlabel = "y"\n'
        'classes = ["n", "p"]\nfeatures = [{ name = "x", low = 0, high = 1 }]\n'
    )
    assert run("study", "new", *KEYS, "--from", "draft.toml", "--epsilon", "2", "--option", "influence=0.25")[0] == 0
    found = read_study(Path("study.toml"))
    assert (found.rounds, found.privacy.epsilon, found.privacy.delta) == (3, 2, 1e-6)
    assert found.options["influence"] == 0.25


@pytest.mark.filterwarnings("default::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize("delta", ["0.5", "0.0125"])
def test_a_careless_delta_is_said_when_a_study_is_made_and_whenever_it_is_shown(run, keys, delta):
    said = f"delta = {delta} is not below 1 / n at 3 of 3 sites, which have up to n = 80 records"
    code, _, err = run(*NEW, "--epsilon", "4", "--delta", delta)
    assert (code, err.count(said)) == (0, 1)
    shown = " ".join(run("study", "show", "study.toml")[1].split())
    assert "warning" in shown
    assert said in shown
    assert said in json.loads(run("study", "show", "study.toml", "--format", "json")[1])["warnings"][0]
    assert said in run("study", "show", "study.toml", "--for", "data-officer")[1]


def test_a_careful_delta_needs_no_words(run, study):
    assert "warning" not in run("study", "show", study)[1]
    assert json.loads(run("study", "show", study, "--format", "json")[1])["warnings"] == []


def test_mock_data_fits_the_study(run, keys):
    code, out, _ = run(*NEW, "--mock", "mock", "--mock-rows", "40")
    assert code == 0
    assert out.count("Mock data: mock/mock-") == 3
    files = {name: Path(f"mock/mock-{name}.csv") for name in "abc"}
    clients = federation(read_study(Path("study.toml")), files).clients
    assert [len(client.train) + len(client.test) for client in clients] == [40, 40, 40]


def test_an_existing_study_is_not_replaced_by_accident(run, study):
    before = study.read_text()
    assert "exists and was not touched" in refused(run(*NEW))
    assert study.read_text() == before
    assert run(*NEW, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--method", "fedvag"), "Did you mean 'fedavg'"),
        (("--method", "local"), "sends nothing"),
        (("--epsilon", "4"), "delta"),
        (("--rounds", "0"), "rounds = 0"),
        (("--site", "a.pub"), "have the same name"),
        (("--site", "coordinator.pub"), "'coordinator' and 'coordinator' have the same name"),
        (("--feature", "age:1..2"), "The column 'age' appears twice"),
        (("--feature", "x:low..high"), "is not a number"),
        (("--max-clients", "2"), "planned for 2"),
        (("--option", "influenze=1"), "Did you mean 'influence'"),
        (("--from", "none.toml"), "Cannot read"),
        (("--site", "none.pub"), "cannot be read"),
        (("--coordinator", "a.pub"), "not a key file"),
        (("--scaling", "log"), "scaling = 'log'"),
    ],
)
def test_what_cannot_be_a_study_is_refused_and_nothing_written(run, keys, more, sentence):
    assert sentence in refused(run(*NEW, *more))
    assert not Path("study.toml").exists()


def test_a_low_order_key_on_the_roster_is_refused(run, keys):
    Path("a.pub").write_text(f"sapefl-site-v1:a:{'A' * 85 + 'A'}:0000-0000")
    assert "anybody could sign" in refused(run(*NEW))


@pytest.mark.parametrize("command", ["new", "show", "verify"])
def test_help_has_a_worked_example(run, command):
    code, out, _ = run("study", command, "--help")
    assert code == 0
    assert f"secure-sapefl study {command}" in out
