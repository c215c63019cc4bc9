"""Tasks by name: ours, a file's, an installed package's, or an object."""

from dataclasses import replace
from pathlib import Path

import pytest

from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.tasks.builtin import REGRESSION
from secure_sapefl.tasks.own import find, given

FILE = """
from dataclasses import replace
from secure_sapefl.tasks.builtin import REGRESSION, half_squared_error

def doubled(outputs, y):
    return 2 * half_squared_error(outputs, y)

TASK = replace(REGRESSION, name="doubled", record_loss=doubled)
NOTHING = 3
"""


def test_our_own_are_found_by_name_and_bring_no_source() -> None:
    found = find("regression")
    assert (found.task, found.sources) == (REGRESSION, {})


def test_a_file_brings_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    found = find(f"{path}:TASK")
    assert found.task.name == "doubled"
    path.write_text(FILE.replace("2 *", "3 *"))
    assert find(f"{path}:TASK").sources != found.sources
    with pytest.raises(BadInput, match="expected a Task"):
        find(f"{path}:NOTHING")


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="regression"):
        find("regresion")


def test_an_object_is_known_by_the_source_of_its_loss() -> None:
    assert given(REGRESSION).sources == {}
    assert given(replace(REGRESSION, name="mine")).sources.keys() == {"task"}
