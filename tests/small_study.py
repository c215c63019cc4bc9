"""A small study of three sites with mock records, and a site's folder, for whoever needs one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.policy import TEMPLATE
from secure_sapefl.study.file import StudyFile, signed_text
from secure_sapefl.study.mock import mock_file

COORDINATOR = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(100, 164)) + b"coordinator")
SITES = [SiteIdentity.from_secret(b"SPID\x01" + bytes([k] * 64) + name) for k, name in enumerate((b"a", b"b", b"c"), 1)]
TABLE = {
    "label": "disease",
    "classes": ["no", "yes"],
    "features": [
        {"name": "age", "low": 0, "high": 120},
        {"name": "sex", "kind": "categorical", "levels": ["f", "m"]},
        {"name": "chol", "low": 0, "high": 600, "may_be_missing": True},
    ],
}

MakeStudy = Callable[..., StudyFile]


@pytest.fixture(scope="session")
def coordinator() -> SiteIdentity:
    return COORDINATOR


@pytest.fixture(scope="session")
def identities() -> list[SiteIdentity]:
    return SITES


@pytest.fixture(scope="session")
def study_values() -> dict[str, Any]:
    return {
        "name": "heart",
        "coordinator": COORDINATOR.public.to_text(),
        "roster": [site.public.to_text() for site in SITES],
        "method": "sapefl",
        "rounds": 2,
        "local_epochs": 1,
        "largest_site": 100,
        "protection": {"max_clients": 3},
        "data": TABLE,
    }


@pytest.fixture
def make_study(study_values: dict[str, Any]) -> MakeStudy:
    return lambda **changed: StudyFile.read({**study_values, **changed}, "the study")


@pytest.fixture
def study(make_study: MakeStudy) -> StudyFile:
    return make_study(privacy={"epsilon": 4, "delta": 1e-5})


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[[StudyFile], Path]:
    def write(study: StudyFile) -> Path:
        path = tmp_path / "study.toml"
        path.write_text(signed_text(study, COORDINATOR))
        return path

    return write


@pytest.fixture
def data_file(tmp_path: Path, study: StudyFile) -> Path:
    path = tmp_path / "records.csv"
    path.write_bytes(mock_file(study.data, rows=100, seed=0, place=0))
    return path


@pytest.fixture
def home(tmp_path: Path, data_file: Path) -> SiteHome:
    return SiteHome.create(tmp_path / "site", SITES[0], data_file, TEMPLATE)
