"""`secure-sapefl site`: from a sealed key to consent, ledger and predictions, and what an owner is protected from."""

import csv
import json
import shutil
import stat
import sys
from pathlib import Path

import pytest
import torch

from sapefl_crypto.keys import keyfile
from secure_sapefl.cli.app import main
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import read_study
from secure_sapefl.study.terms import StudyTerms

WORDS = "correct horse battery"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of three sites with mock data and sealed keys, made once by the commands themselves."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(keyfile, "_SCRYPT_COST", 2)
        for name in ("coordinator", "a", "b", "c"):
            call(patch, "keys", "site", "--name", name, "--out", f"{name}.key")
        schema = ("--feature", "age:0..120", "--feature", "sex:f|m")
        classes = ("--label", "ill", "--class", "no", "--class", "yes")
        terms = ("--rounds", "2", "--largest-site", "80", "--epsilon", "4", "--delta", "1e-5")
        keys = ("--coordinator", "coordinator.key", "--site", "a.pub", "--site", "b.pub", "--site", "c.pub")
        call(patch, "study", "new", "--name", "heart", *keys, *terms, *schema, *classes, "--mock", "mock")
        recipients = ("--for", "a.pub", "--for", "b.pub", "--for", "c.pub")
        call(patch, "keys", "cohort", "--study", "heart", *recipients, "--out", "sealed")
    return folder


def call(patch, *arguments):
    patch.setattr(sys, "argv", ["secure-sapefl", *map(str, arguments)])
    with pytest.raises(SystemExit) as finished:
        main()
    assert not finished.value.code


@pytest.fixture
def site(made, tmp_path, monkeypatch, capsys):
    """Run ``secure-sapefl site ...`` beside a copy of what was made; returns exit code, stdout and stderr."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(keyfile, "_SCRYPT_COST", 2)
    for name in ("SAPEFL_PASSPHRASE", "SAPEFL_SITE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", "site", *map(str, arguments)])
        with pytest.raises(SystemExit) as finished:
            main()
        said = capsys.readouterr()
        return finished.value.code, said.out, said.err

    return run


def fingerprint():
    return json.loads(Path("sealed/a.sealed").read_text())["about"]["fingerprint"]


def init(more=(), **changed):
    options = {"identity": "a.key", "data": "mock/mock-a.csv", "sealed": "sealed/a.sealed", **changed}
    options.setdefault("fingerprint", fingerprint())
    return ("init", *(text for name, value in options.items() for text in (f"--{name}", value)), *more)


@pytest.fixture
def home(site):
    assert site(*init())[0] == 0
    return SiteHome(Path("site"))


@pytest.fixture
def approved(site, home):
    assert site("approve", "study.toml")[0] == 0
    return home


def refused(result, code=2):
    found, out, err = result
    assert (found, out) == (code, "")
    assert err.startswith("secure-sapefl: ")
    assert err.count("\n") == 1
    return err


def test_a_site_is_set_up_private(site):
    code, out, _ = site(*init())
    assert code == 0
    assert "fingerprint as expected" in out
    assert "Read and edit site/policy.toml" in out
    assert stat.S_IMODE(Path("site").stat().st_mode) == 0o700
    assert stat.S_IMODE(Path("site/cohort/heart.key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"fingerprint": "0000-1111"}, "ask the custodian"),
        ({"sealed": "sealed/b.sealed"}, "sealed for 'b'"),
        ({"data": "none.csv"}, "no file none.csv"),
        ({"identity": "a.pub"}, "not a key file"),
        ({"policy": "study.toml"}, "'max_epsilon_per_study' is missing"),
        ({"home": "mock"}, "holds something already"),
    ],
)
def test_what_is_wrong_at_the_start_leaves_no_folder_behind(site, changed, sentence):
    assert sentence in refused(site(*init(**changed)))
    assert not Path("site").exists()


def test_the_fingerprint_is_not_optional(site):
    code, _, err = site("init", "--identity", "a.key", "--data", "mock/mock-a.csv", "--sealed", "sealed/a.sealed")
    assert code == 2
    assert "--fingerprint" in err


def test_a_study_that_fits_is_reviewed_and_approved(site, home):
    code, out, _ = site("review", "study.toml")
    assert code == 0
    assert "Conflicts with your policy: none" in out
    assert "at most 4 for every record" in out
    code, out, _ = site("approve", "study.toml")
    assert code == 0
    assert read_study(Path("study.toml")).digest in out


def test_a_conflict_is_marked_and_cannot_be_approved(site, home):
    home.policy_path.write_text(home.policy_path.read_text().replace("min_cohort = 3", "min_cohort = 5"))
    code, out, _ = site("review", "study.toml", "--format", "json")
    assert code == 3
    assert [line["topic"] for line in json.loads(out)["lines"] if line["verdict"] == "conflict"] == ["cohort"]
    code, out, _ = site("review", "study.toml")
    assert (code, "Conflicts with your policy: 1" in out) == (3, True)
    assert "asks for more than the policy of 'a' allows" in refused(site("approve", "study.toml"), code=3)


def test_data_that_does_not_fit_is_named(site, home):
    text = home.data_path.read_text()
    home.data_path.write_text(text.replace("age", "years"))
    assert "no column 'age'" in refused(site("review", "study.toml"))
    lines = text.splitlines()
    home.data_path.write_text("\n".join([*lines[:3], "old" + lines[3].lstrip("0123456789."), *lines[4:]]))
    assert "column 'age', line 4: not a number" in refused(site("approve", "study.toml"))


def test_the_folder_can_be_named_in_the_environment(site, home, monkeypatch):
    Path("site").rename("elsewhere")
    assert "is not a site's folder" in refused(site("review", "study.toml"))
    monkeypatch.setenv("SAPEFL_SITE", "elsewhere")
    assert site("review", "study.toml")[0] == 0


def test_the_ledger_is_shown_verified_and_exported(site, approved):
    code, out, _ = site("ledger")
    assert code == 0
    assert "approved" in out
    code, out, _ = site("ledger", "--verify")
    assert (code, out.startswith("Lines: 1, all as they were written.")) == (0, True)
    assert json.loads(site("ledger", "--export", "json")[1])["entries"][0]["kind"] == "approved"
    assert site("ledger", "--export", "html")[1].startswith("<!DOCTYPE html>")


def test_an_altered_ledger_is_not_shown(site, approved):
    approved.ledger_path.write_text(approved.ledger_path.read_text().replace("approved", "withdrawn"))
    for more in ((), ("--verify",), ("--export", "json")):
        assert "line 1 does not follow" in refused(site("ledger", *more))


def test_half_a_line_after_a_crash_is_told(site, approved):
    with approved.ledger_path.open("ab") as file:
        file.write(b'{"line"')
    code, out, _ = site("ledger", "--verify")
    assert (code, "A crash left half a line" in out) == (0, True)


def test_consent_can_be_taken_back(site, approved):
    assert site("withdraw", "study.toml")[0] == 0
    assert "has not approved" in refused(site("withdraw", "study.toml"))


def test_a_key_is_taken_in_and_replaced_only_on_purpose(site, home):
    arguments = ("key", "sealed/a.sealed", "--fingerprint", fingerprint())
    assert "exists and was not touched" in refused(site(*arguments))
    code, out, _ = site(*arguments, "--overwrite")
    assert (code, fingerprint() in out) == (0, True)


def test_a_passphrase_guards_identity_and_cohort_key(site, monkeypatch):
    Path("a.key").unlink()
    Path("a.pub").unlink()
    monkeypatch.setenv("SAPEFL_PASSPHRASE", WORDS)
    call(monkeypatch, "keys", "site", "--name", "a", "--out", "a.key")
    call(monkeypatch, "keys", "cohort", "--study", "heart", "--for", "a.pub", "--out", "sealed", "--overwrite")
    assert site(*init())[0] == 0
    monkeypatch.delenv("SAPEFL_PASSPHRASE")
    assert "nobody is here to ask" in refused(site("approve", "study.toml"))
    labels = [
        json.loads(Path(f"site/{name}").read_text())["protection"] for name in ("identity.key", "cohort/heart.key")
    ]
    assert labels == ["scrypt-aes256gcm"] * 2


def test_the_sites_own_model_predicts(site, approved, tmp_path):
    Path("patients.csv").write_text("patient,age,sex\np1,50,f\np2,61,m\n")
    predict = ("predict", "patients.csv", "--study", "study.toml", "--id", "patient")
    assert "has no model of study 'heart' yet" in refused(site(*predict))
    assert "Which study? Site 'a' has a model of: none." in refused(site("predict", "patients.csv"))
    saved_state(approved, absorbed=0, answered=0)
    code, out, _ = site(*predict)
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert [row["record"] for row in rows] == ["p1", "p2"]
    assert all(float(row["probability of no"]) + float(row["probability of yes"]) == pytest.approx(1) for row in rows)
    assert json.loads(site(*predict, "--format", "json")[1])["records"][1]["record"] == "p2"
    assert site("predict", "patients.csv", "--id", "patient")[:2] == (0, out)
    assert "'patient' is not in the study's schema" in refused(site("predict", "patients.csv", "--study", "study.toml"))


def saved_state(home, **fields):
    """A site's state with a personal model, on disk."""
    terms = StudyTerms.from_file(read_study(Path("study.toml")))
    theta = torch.linspace(-1, 1, terms.blueprint.model.parameters)
    own = {"theta_personal": theta[None]}
    state = SiteState(study=terms.file.digest, site="a", theta_global=theta, own=own, **fields)
    state.save(home.state_path(terms.file.digest))


def test_a_study_that_is_over_is_not_waited_for(site, approved):
    saved_state(approved, absorbed=1, answered=1, over=True)
    before = Path("site/ledger.jsonl").read_bytes()
    code, out, err = site("start", "--study", "study.toml", "--server", "127.0.0.1:9", "--without-tls")
    assert (code, err) == (0, "")
    assert out.endswith("The study is over.\n")
    assert Path("site/ledger.jsonl").read_bytes() == before
    assert not Path("site.run").exists()  # no relay, no socket


def test_a_model_that_no_round_has_trained_does_not_predict(site, approved):
    saved_state(approved, absorbed=0, answered=-1)
    Path("patients.csv").write_text("age,sex\n50,f\n")
    assert "has no model of study 'heart' yet" in refused(site("predict", "patients.csv", "--study", "study.toml"))


@pytest.mark.parametrize("command", ["init", "key", "review", "approve", "withdraw", "ledger", "predict"])
def test_help_has_a_worked_example(site, command):
    code, out, _ = site(command, "--help")
    assert code == 0
    assert f"secure-sapefl site {command}" in out
