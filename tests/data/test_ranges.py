"""Public ranges from a file: every column, no other, and every mistake named."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.data.prepare import Range
from secure_sapefl.data.ranges import public_scale
from secure_sapefl.errors import BadInput

COLUMNS = ("age", "pressure")


def ranges(folder: Path, text: str) -> Path:
    path = folder / "ranges.toml"
    path.write_text(text)
    return path


def test_two_numbers_or_three(tmp_path: Path) -> None:
    scale = public_scale(ranges(tmp_path, "pressure = [80, 200, 130]\nage = [20, 100]"), COLUMNS)
    assert scale.columns == (Range(20, 100, 60), Range(80, 200, 130))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("age = [20, 100]", "no range for column 'pressure'"),
        ("age = [20, 100]\npressure = [1, 2]\nweight = [3, 4]", "'weight' is no column"),
        ("age = [100, 20]\npressure = [1, 2]", "the range of 'age' is"),
        ("age = [20, 100, 120]\npressure = [1, 2]", "the range of 'age' is"),
        ("age = 20\npressure = [1, 2]", "the range of 'age' is 20, expected"),
        ("age = [20, inf]\npressure = [1, 2]", "the range of 'age' is"),
        ("age = [true, 3]\npressure = [1, 2]", "the range of 'age' is"),
        ("age = [20", "not valid TOML"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        public_scale(ranges(tmp_path, text), COLUMNS)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*Check the path"):
        public_scale(tmp_path / "none.toml", COLUMNS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = [f"{30 + i},{120 + i},{i % 2}" for i in range(40)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["age,pressure,ill", *lines]))
    return path


def test_a_table_of_one_s_own_is_scaled_by_them(tmp_path: Path, table: Path) -> None:
    given = {"ranges": str(ranges(tmp_path, "age = [20, 100]\npressure = [80, 200]"))}
    made = build_federation(str(table), clients=2, partition="iid", kappa=1.0, seed=0, options=given, label="ill")
    by_site = build_federation(str(table), clients=2, partition="iid", kappa=1.0, seed=0, label="ill")
    assert (made.learned, by_site.learned) == (False, True)
    widths = np.array([80, 120]) / 12**0.5
    ages = (made.clients[0].train.X * widths + (60, 140)).round(3)
    assert set(ages[:, 1] - ages[:, 0]) == {90.0}


def test_ranges_of_numbered_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", X=np.arange(80.0).reshape(40, 2), y=np.arange(40) % 2)
    given = {"ranges": str(ranges(tmp_path, "0 = [0, 80]\n1 = [0, 80]"))}
    made = build_federation(str(tmp_path / "mine.npz"), clients=2, partition="iid", kappa=1.0, seed=0, options=given)
    assert not made.learned


def test_one_way_to_scale_at_a_time(tmp_path: Path, table: Path) -> None:
    given = {"ranges": str(ranges(tmp_path, "age = [20, 100]")), "standardise": "none"}
    with pytest.raises(BadInput, match="leave out `standardise`"):
        build_federation(str(table), clients=2, partition="iid", kappa=1.0, seed=0, options=given, label="ill")
