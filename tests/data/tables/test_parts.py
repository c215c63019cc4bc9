"""One table of several sites, a file for each."""

from pathlib import Path

import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.parts import file_name, write_parts
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.errors import BadInput


def test_every_record_is_in_the_file_of_its_site(mixed: Columns, tmp_path: Path) -> None:
    paths = write_parts(mixed, "Klinik", tmp_path / "sites")
    assert [path.name for path in paths] == ["Köln.csv", "München.csv", "Århus.csv", "Łódź.csv"]
    parts = [read_columns(path) for path in paths]
    assert sum(map(len, parts)) == len(mixed)
    assert set(parts[0].cells["Klinik"]) == {"Köln"}
    assert list(parts[0].cells) == list(mixed.cells)


def test_names_that_files_cannot_have() -> None:
    assert file_name("St. Mary's / ward 3") == "St._Mary_s_ward_3"
    assert file_name("..") == "site"


def test_two_sites_never_share_a_file(tmp_path: Path) -> None:
    columns = Columns(source="t", unit="line", cells={"s": ["a/b", "a b"]})
    with pytest.raises(BadInput, match="share a file name"):
        write_parts(columns, "s", tmp_path)
    with pytest.raises(BadInput, match="does not name the site of every record"):
        write_parts(Columns(source="t", unit="line", cells={"s": ["a", ""]}), "s", tmp_path)
