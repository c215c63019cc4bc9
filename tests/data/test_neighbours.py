"""Two files that differ in one record give training sets that do, whichever way the records come in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from secure_sapefl.config import Config
from secure_sapefl.data import build
from secure_sapefl.data.table import Table
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.errors import BadInput
from tests.data.neighbours import CASES, HAR, OWN, REMOVED, Case, changed, stratified, twins_at_two_sites

ALL = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def changes(case: Case, folder: Path) -> list[int]:
    whole = case.federation(folder)
    return [changed(whole.clients, case.federation(folder, row, whole.public).clients) for row in REMOVED]


@ALL
def test_one_record_less_is_one_training_record_less_at_most(case: Case, tmp_path: Path) -> None:
    found = changes(case, tmp_path)
    assert max(found) == 1


@ALL
def test_nothing_else_of_a_study_changes_with_a_record(case: Case, tmp_path: Path) -> None:
    """Neither who takes part nor the classes, though some record is the only one of its class, or of its group."""
    whole = case.federation(tmp_path)
    for row in REMOVED:
        other = case.federation(tmp_path, row, whole.public)
        assert [client.name for client in other.clients] == [client.name for client in whole.clients]
        assert (other.class_names, other.shape, other.public) == (whole.class_names, whole.shape, whole.public)


@pytest.mark.parametrize("case", [case for case in CASES.values() if "split" not in case.by_record])
def test_the_stratified_split_is_caught(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "split_by_coins", stratified)
    assert max(changes(case, tmp_path)) > 1


def test_generated_rows_as_well() -> None:
    config = Config(dp_epsilon=1.0, dp_delta=1e-5, data_options={"rows": 200}, clients=4)
    whole = federation_of(config)

    def without_the_ninth(table: Table) -> Table:
        return table.part(np.arange(len(table)) != 9)

    pinned = config.model_copy(update={"dp_public": whole.public})
    assert changed(whole.clients, federation_of(pinned, change=without_the_ninth).clients) <= 1


def test_a_record_decides_nothing_about_its_twin_at_another_site(tmp_path: Path) -> None:
    """A part of the rows is drawn from the whole file; the sites in it are protected one by one."""
    twins = replace(OWN, arrays=twins_at_two_sites, settings={**OWN.settings, "rows": 30})
    whole = twins.federation(tmp_path)
    for row in range(30):  # all of them at `north`
        other = twins.federation(tmp_path, row, whole.public)
        assert changed(whole.clients[1:], other.clients[1:]) == 0


def test_the_order_of_a_file_decides_nothing(tmp_path: Path) -> None:
    whole = OWN.federation(tmp_path)
    turned = replace(OWN, arrays=lambda rng: {name: values[::-1] for name, values in OWN.arrays(rng).items()})
    assert changed(whole.clients, turned.federation(tmp_path, None, whole.public).clients) == 0


def test_segments_stay_whole(tmp_path: Path) -> None:
    def as_long_as_its_segment(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        arrays = HAR.arrays(rng)
        features = np.stack([arrays["segment"], np.bincount(arrays["segment"])[arrays["segment"]]], axis=1)
        return {**arrays, "features": features.astype(np.float32)}

    for client in replace(HAR, arrays=as_long_as_its_segment).federation(tmp_path).clients:
        for rows in (client.train.X, client.test.X):
            segments, counts = np.unique(rows, axis=0, return_counts=True)
            assert np.array_equal(segments[:, 1], counts)


def test_about_a_fifth_is_for_testing() -> None:
    config = Config(dp_epsilon=1.0, dp_delta=1e-5, clients=5, partition="iid")
    clients = federation_of(config).clients
    tested = sum(len(client.test) for client in clients) / 10_000
    assert tested == pytest.approx(0.2, abs=0.015)
    assert all(len(client.train) + len(client.test) == pytest.approx(2000, abs=200) for client in clients)


def test_a_folder_whose_segments_are_counted_as_it_is_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "UCI HAR Dataset").mkdir()
    with pytest.raises(BadInput, match="a private study reads rows whose segments are written beside them"):
        federation_of(HAR.config(tmp_path))


def test_rows_of_a_person_stay_together_in_a_private_study(tmp_path: Path) -> None:
    """The day of a record is its person's: no day is on both sides of a site."""

    def by_person(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        arrays = CASES["a hospital table, csv"].arrays(rng)
        days = [np.datetime64("2001-01-01") + int(name[1:]) for name in arrays["Patient"]]
        return {**arrays, "Tag": np.array([str(day) for day in days])}

    case = replace(CASES["a hospital table, csv"], arrays=by_person)
    found = case.federation(tmp_path).clients
    assert any(len(client.test) for client in found)
    for client in found:
        assert not set(client.train.X[:, 1].tolist()) & set(client.test.X[:, 1].tolist())


def test_a_private_study_takes_no_schema_from_its_records(tmp_path: Path) -> None:
    """A level that one record alone has would be a column of everybody's model."""
    case = replace(CASES["a hospital table, csv"], schema="", settings={"label": "krank", "group": "Klinik"})
    with pytest.raises(BadInput, match=r"must be told what its columns are without looking at records.*--data-schema"):
        case.federation(tmp_path)


@pytest.mark.parametrize("partition", ["dirichlet", "clustered"])
def test_persons_are_not_dealt_by_a_class_that_one_of_their_records_would_decide(
    tmp_path: Path, partition: str
) -> None:
    """Without the refusal, taking away a person's first record moves the others of that person."""
    case = replace(CASES["a hospital table, csv"], settings={"partition": partition})
    with pytest.raises(BadInput, match="divide by --partition natural or iid"):
        case.federation(tmp_path)
