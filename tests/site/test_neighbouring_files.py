"""A deployed site in a private study: one record of its file decides about one training record, and about no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.data import ClientData
from secure_sapefl.site import data
from secure_sapefl.site.data import federation, load_site
from secure_sapefl.study.file import StudyFile
from tests.data.neighbours import changed, stratified

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"privacy": {"epsilon": 1.0, "delta": 1e-5}}
IMAGES: dict[str, Any] = {"kind": "images", "height": 6, "width": 5, "classes": ["cat", "dog"]}
RECORDS = 80
Write = Callable[[Path, int | None], Path]


def csv(folder: Path, without: int | None) -> Path:
    """Few values, so that there are twins."""
    rng = np.random.default_rng(2)
    rows = [f"{rng.integers(20, 24)},{'fm'[rng.integers(2)]},{200},{('no', 'yes')[rng.integers(2)]}" for _ in range(80)]
    kept = [row for number, row in enumerate(rows) if number != without]
    path = folder / "a.csv"
    path.write_text("\n".join(["age,sex,chol,disease", *kept]) + "\n")
    return path


def npz(folder: Path, without: int | None) -> Path:
    rng = np.random.default_rng(3)
    X, y = (
        np.stack([rng.uniform(0, 120, 80), rng.integers(0, 2, 80), rng.uniform(0, 600, 80)], 1),
        rng.integers(0, 2, 80),
    )
    cells = np.array([[f"{age:.3f}", "fm"[int(sex)], f"{chol:.3f}"] for age, sex, chol in X])
    return _saved(folder / "a.npz", cells, y, without)


PERSONS: dict[str, Any] = {
    "label": "krank",
    "classes": ["nein", "ja"],
    "person": "Patient",
    "ignored": ["Notiz"],
    "features": [
        {"name": "Alter", "low": 0, "high": 120, "may_be_missing": True},
        {"name": "raucht", "kind": "boolean"},
    ],
}


def hospital(folder: Path, without: int | None) -> Path:
    """Semicolons, decimal commas, a line in another encoding, and persons who come twice."""
    rng = np.random.default_rng(6)
    rows = []
    for k in range(80):
        answers = ["ja" if rng.integers(2) else "nein" for _ in range(2)]
        rows.append(f"P{k // 2};{rng.integers(200, 900) / 10:.1f};{answers[0]};n;{answers[1]}")
    lines = [row.replace(".", ",").encode() for row in rows]
    lines[14] = lines[14].replace(b";n;", ";Größe;".encode("cp1252"))
    kept = [line for number, line in enumerate(lines) if number != without]
    path = folder / "a.csv"
    path.write_bytes(b"\n".join([b"Patient;Alter;raucht;Notiz;krank", *kept]) + b"\n")
    return path


def images(folder: Path, without: int | None) -> Path:
    rng = np.random.default_rng(4)
    return _saved(folder / "a.npz", rng.integers(0, 256, (80, 6, 5), dtype=np.uint8), rng.integers(0, 2, 80), without)


def _saved(path: Path, X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], without: int | None) -> Path:
    kept = np.arange(len(y)) != without
    np.savez(path, X=X[kept], y=y[kept])
    return path


WAYS = [
    pytest.param(csv, {}, id="csv"),
    pytest.param(npz, {}, id="npz"),
    pytest.param(images, {"data": IMAGES}, id="images"),
    pytest.param(hospital, {"data": PERSONS}, id="persons"),
]


def changes(folder: Path, study: StudyFile, write: Write) -> list[int]:
    def loaded(without: int | None) -> list[ClientData]:
        return [load_site(write(folder, without), study, "b")]

    whole = loaded(None)
    return [changed(whole, loaded(record)) for record in range(0, RECORDS, 7)]


@pytest.mark.parametrize(("write", "data_of_study"), WAYS)
def test_one_record_less_is_one_training_record_less_at_most(
    tmp_path: Path, make_study: MakeStudy, write: Write, data_of_study: dict[str, Any]
) -> None:
    assert max(changes(tmp_path, make_study(**PRIVATE, **data_of_study), write)) == 1


@pytest.mark.parametrize(("write", "data_of_study"), WAYS)
def test_the_stratified_split_is_caught(
    tmp_path: Path,
    make_study: MakeStudy,
    write: Write,
    data_of_study: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data, "split_by_coins", stratified)
    assert max(changes(tmp_path, make_study(**PRIVATE, **data_of_study), write)) > 1


@pytest.mark.parametrize("records", [1, 4, 79])
def test_no_number_of_records_is_refused_where_that_would_be_seen(
    tmp_path: Path, make_study: MakeStudy, records: int
) -> None:
    """Neither few, nor more than the study's largest site: whether a site comes would say how many it has."""
    lines = csv(tmp_path, None).read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(lines[: records + 1]) + "\n")
    client = load_site(tmp_path / "a.csv", make_study(**PRIVATE, largest_site=50), "a")
    assert len(client.train) + len(client.test) == records


def test_a_simulated_study_divides_its_files_in_the_same_way(tmp_path: Path, make_study: MakeStudy) -> None:
    study = make_study(**PRIVATE)
    files = {site: csv(tmp_path, None) for site in study.sites}
    together = federation(study, files).clients
    assert changed(together, [load_site(files[site], study, site) for site in study.sites]) == 0
