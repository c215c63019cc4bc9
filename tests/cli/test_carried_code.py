"""A study that carries its model's code, by the commands themselves: made, reviewed, refused, approved, used."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sapefl_crypto.keys import keyfile
from secure_sapefl.cli.app import main
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import read_study
from tests.carried_code import HONEST

Run = Callable[..., tuple[object, str, str]]
DATA = ("--feature", "age:0..120", "--feature", "sex:f|m", "--label", "ill", "--class", "no", "--class", "yes")
KEYS = ("--coordinator", "coordinator.key", "--site", "a.pub", "--site", "b.pub", "--site", "c.pub")
NEW = ("study", "new", "--name", "heart", "--model", "net.py:build", "--rounds", "2", "--largest-site", "80")
NOBODY_ELSE = ("--preparation", "public")  # what a site alone needs no agreement for


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(keyfile, "_SCRYPT_COST", 2)
    monkeypatch.delenv("SAPEFL_PASSPHRASE", raising=False)
    (tmp_path / "net.py").write_text(HONEST)

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *map(str, arguments)])
        with pytest.raises(SystemExit) as finished:
            main()
        said = capsys.readouterr()
        return finished.value.code, said.out, said.err

    for name in ("coordinator", "a", "b", "c"):
        assert not call("keys", "site", "--name", name, "--out", f"{name}.key")[0]
    return call


@pytest.fixture
def home(run: Run, tmp_path: Path) -> SiteHome:
    """Site a with mock records and the study; its policy is the default but for the missing budget."""
    assert not run(*NEW, *KEYS, *DATA, *NOBODY_ELSE, "--mock", "mock")[0]
    recipients = ("--for", "a.pub", "--for", "b.pub", "--for", "c.pub")
    assert not run("keys", "cohort", "--study", "heart", *recipients, "--out", "sealed")[0]
    fingerprint = json.loads(Path("sealed/a.sealed").read_text())["about"]["fingerprint"]
    files = ("--identity", "a.key", "--data", "mock/mock-a.csv", "--sealed", "sealed/a.sealed")
    assert not run("site", "init", *files, "--fingerprint", fingerprint)[0]
    site = SiteHome(tmp_path / "site")
    _allow(site, "without_privacy = false", "without_privacy = true")
    return site


def _allow(site: SiteHome, before: str, after: str) -> None:
    site.policy_path.write_text(site.policy_path.read_text().replace(before, after))


def test_a_new_study_says_what_it_carries(run: Run) -> None:
    code, out, _ = run(*NEW, *KEYS, *DATA)
    digest = read_study(Path("study.toml")).code
    assert digest is not None
    assert (code, f"It carries net.py, 7 lines, SHA-256 {digest.digest}" in out) == (0, True)
    assert digest.digest in run("study", "verify", "study.toml")[1]
    assert "could hide records in what leaves" in " ".join(run("study", "show", "study.toml")[1].split())
    note = run("study", "show", "study.toml", "--for", "data-officer")[1]
    assert f"SHA-256 `{digest.digest}`" in note


def test_a_budget_and_carried_code_exclude_each_other(run: Run) -> None:
    code, _, err = run(*NEW, *KEYS, *DATA, "--epsilon", "4", "--delta", "1e-5")
    assert (code, "can skip clipping and noise" in " ".join(err.split())) == (2, True)
    assert not Path("study.toml").exists()


def test_an_owner_sees_the_code_and_decides(run: Run, home: SiteHome) -> None:
    code, out, _ = run("site", "review", "study.toml")
    assert code == 3
    assert "   6  def build(about):" in out
    assert "code = never" in out
    assert run("site", "approve", "study.toml")[0] == 3
    _allow(home, 'code = "never"', 'code = "reviewed"')
    assert run("site", "review", "study.toml")[0] == 0
    code, out, _ = run("site", "approve", "study.toml")
    study = read_study(Path("study.toml"))
    assert study.code is not None
    assert (code, f"the code it carries: SHA-256 {study.code.digest}" in out) == (0, True)
    assert json.loads(home.consent_path(study.digest).read_text())["code"] == study.code.digest
    found = json.loads(run("site", "review", "study.toml", "--format", "json")[1])
    assert found["code"] == {"digest": study.code.digest, "source": HONEST}


@pytest.mark.slow
def test_predictions_and_the_exported_model_are_those_of_the_carried_code(run: Run, home: SiteHome) -> None:
    """With real trainer processes. The weights are put there, as after a round."""
    _allow(home, 'code = "never"', 'code = "reviewed"')
    assert run("site", "approve", "study.toml")[0] == 0
    study = read_study(Path("study.toml"))
    assert study.code is not None
    theta = torch.linspace(-1, 1, study.code.weights)
    SiteState(
        study=study.digest, site="a", absorbed=0, answered=0, theta_global=theta, own={"theta_personal": theta[None]}
    ).save(home.state_path(study.digest))
    Path("patients.csv").write_text("age,sex\n60,f\n30,m\n")
    code, out, err = run("site", "predict", "patients.csv", "--format", "json")
    assert code == 0, err
    assert len(json.loads(out)["records"]) == 2
    code, out, err = run("export", "site", "--out", "model.safetensors")
    assert code == 0, err
    weights = load_file("model.safetensors")
    assert torch.equal(torch.cat([weights[name.name].flatten() for name in study.code.parameters]), theta)
    code, _, err = run("export", "site", "--out", "model.pt2")
    assert (code, "is run nowhere but in its trainer" in " ".join(err.split())) == (2, True)
    code, _, err = run("release", "site", "--out", "out.npz")
    assert (code, "Only models of ours can be published" in " ".join(err.split())) == (2, True)
    _allow(home, 'code = "reviewed"', 'code = "never"')
    assert run("site", "predict", "patients.csv")[0] == 3
