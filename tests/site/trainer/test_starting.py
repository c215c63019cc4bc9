"""Whether carried code runs at all: consent, policy, where the site's folder lies, what the system can hold."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, PolicyConflict, StudyRejected
from secure_sapefl.site.consent import approve
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.trainer import starting
from secure_sapefl.site.trainer.carried import CarriedTraining
from secure_sapefl.site.trainer.confinement import NEEDED
from secure_sapefl.site.trainer.starting import training_at
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from tests.carried_code import carried
from tests.small_study import TABLE


def set_policy(site: SiteHome, **lines: str) -> None:
    text = site.policy_path.read_text()
    for name, value in {"without_privacy": "true", **lines}.items():
        before = next(line for line in text.splitlines() if line.removeprefix("# ").startswith(f"{name} ="))
        text = text.replace(before, f"{name} = {value}")
    site.policy_path.write_text(text)


@pytest.fixture
def terms(make_study: Callable[..., StudyFile], tmp_path: Path) -> StudyTerms:
    return StudyTerms.from_file(make_study(**carried(tmp_path, TABLE)))


@pytest.fixture
def approved(
    home: SiteHome, terms: StudyTerms, write_study: Callable[..., Path], identities: list[SiteIdentity]
) -> SiteHome:
    set_policy(home, code='"reviewed"')
    approve(home, write_study(terms.file), identities[0])
    return home


def begun(site: SiteHome, terms: StudyTerms, **more: Any) -> Any:
    with training_at(site, terms, load_site(site.data_path, terms.file, "a"), **more) as training:
        return training


def test_code_that_was_approved_trains_apart(approved: SiteHome, terms: StudyTerms) -> None:
    assert isinstance(begun(approved, terms), CarriedTraining)


def test_a_model_of_ours_trains_here(home: SiteHome, make_study: Callable[..., StudyFile]) -> None:
    assert isinstance(begun(home, StudyTerms.from_file(make_study())), OwnProcess)


def test_without_consent_to_the_code_nothing_runs(home: SiteHome, terms: StudyTerms) -> None:
    set_policy(home, code='"reviewed"')
    with pytest.raises(StudyRejected, match="has not approved"):
        begun(home, terms)


def test_a_policy_that_was_tightened_since_is_obeyed(approved: SiteHome, terms: StudyTerms) -> None:
    set_policy(approved, code='"never"')
    with pytest.raises(PolicyConflict, match="code = never"):
        begun(approved, terms)


def test_a_graphics_card_is_refused(approved: SiteHome, terms: StudyTerms) -> None:
    with pytest.raises(BadInput, match="--device cpu"):
        begun(approved, terms, device=torch.device("cuda"))


def test_a_site_among_the_libraries_is_refused(
    approved: SiteHome, terms: StudyTerms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "within_reach", lambda path: path.parent)
    with pytest.raises(BadInput, match="which carried code can read"):
        begun(approved, terms)


class Weak:
    """A process that nothing keeps in, as on a system without Landlock."""

    held = ("network",)

    def __init__(self, *_: object) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("allowed", [False, True])
def test_where_nothing_holds_the_policy_must_say_so(
    approved: SiteHome, terms: StudyTerms, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    """Allowed, the code is begun: here by a process that cannot even be asked."""
    set_policy(approved, code='"reviewed"', code_unconfined=str(allowed).lower())
    monkeypatch.setattr(starting, "TrainerProcess", Weak)
    training = starting.carried_training(approved, terms, load_site(approved.data_path, terms.file, "a"))
    expected = (AttributeError, "ask") if allowed else (PolicyConflict, "not kept from: files, processes")
    monkeypatch.setattr(Weak, "pid", 1, raising=False)
    with pytest.raises(expected[0], match=expected[1]):
        _ = training.theta_initial
    assert len(NEEDED) == 4
