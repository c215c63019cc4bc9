"""Names of installed packages: found in simulations when somebody types them, and never by a deployed study."""

import sys
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config, plugins, simulate
from secure_sapefl.algorithms import own
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.data import spec_of
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import new_study
from secure_sapefl.study.terms import StudyTerms
from tests.installed_package import Installed
from tests.small_study import COORDINATOR, SITES, study_values

__all__ = ["study_values"]  # a fixture
SMALL: dict[str, Any] = {"clients": 3, "rounds": 1, "local_epochs": 1, "protection": "plaintext", "workers": 0}
FEW = {"rows": 120, "classes": 3}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    monkeypatch.delitem(sys.modules, "their_package", raising=False)
    return Installed(tmp_path, monkeypatch)


def test_names_are_told_without_importing_anything(installed: Installed) -> None:
    assert plugins.offered("method") == {"theirs": "their-package 1.2", "fedavg": "their-package 1.2"}
    assert plugins.offered("task") == {"theirs": "their-package 1.2"}
    assert plugins.find("model", "nobodys") is None
    assert not installed.imported


def test_their_method_runs_on_their_data_with_their_model(installed: Installed) -> None:
    theirs = {"method": "theirs", "dataset": "theirs", "model": "theirs", "data_options": FEW}
    result = simulate(Config(**SMALL, **theirs))
    assert result.facts["method"] == result.facts["dataset"] == "theirs"
    assert result.models is not None
    assert result.parameters == 3 * result.models.shape[0] + 3  # a linear layer, and no preset of ours
    assert assemble(Config(**SMALL, **theirs)).blueprint.sources.keys() == {"model", "method"}


def test_names_of_ours_cannot_be_taken_over(installed: Installed) -> None:
    assert own.algorithm("fedavg") is FEDAVG
    assert own.find("fedavg").sources == {}
    assert not installed.imported


def test_a_package_that_changes_is_another_source(installed: Installed) -> None:
    before = own.find("theirs").sources["method"]
    about = installed.folder / "their_package-1.2.dist-info"
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.3\n")
    assert own.find("theirs").sources["method"] != before


def test_what_is_no_dataset_is_refused_by_name(installed: Installed) -> None:
    with pytest.raises(BadInput, match=r"their_package:__name__' is str, expected a DatasetSpec"):
        spec_of("number")


def test_two_packages_with_one_name_are_both_told(installed: Installed) -> None:
    about = installed.folder / "other-3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 3\n")
    (about / "entry_points.txt").write_text("[secure_sapefl.models]\ntheirs = other:model\n")
    with pytest.raises(BadInput, match=r"'theirs' is offered by other 3 and their-package 1\.2"):
        plugins.find("model", "theirs")


def test_an_unknown_name_is_told_the_installed_ones_too(installed: Installed) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'theirs'"):
        own.find("their")


@pytest.mark.parametrize("what", [{"method": "theirs"}, {"model": "theirs"}, {"method": "theirs.py"}], ids=str)
def test_a_deployed_study_loads_none_of_them(installed: Installed, study_values: dict[str, Any], what: Any) -> None:
    """Neither where a study is written nor where a site reads it."""
    (installed.folder / "theirs.py").write_text((installed.folder / "their_package.py").read_text())
    with pytest.raises(UnknownName):
        StudyTerms.from_file(StudyFile.read({**study_values, **what}, "the study"))
    draft = {key: value for key, value in study_values.items() if key not in ("coordinator", "roster")}
    with pytest.raises(UnknownName):
        new_study({**draft, **what}, COORDINATOR.public, [site.public for site in SITES])
    assert not installed.imported


def test_a_deployed_study_of_ours_imports_nobody_elses_code(installed: Installed, study_values: dict[str, Any]) -> None:
    StudyTerms.from_file(StudyFile.read(study_values, "the study"))
    assert not installed.imported
