"""The plan of the house, held by what `scripts/measure.py` measures: rooms, their size, and a test for every module."""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MOST_MODULES = 25  # in a folder; commands have a module each, so that `cli` may have more
MOST_REPEATED = 0.5  # percent
OWN = {"self", "cls", "other"}  # `other` of the same class
NOT_PRIVATE = {"_exit", "_replace", "_asdict", "_fields"}  # public names of Python's own that begin so


@pytest.fixture(scope="module")
def measured() -> Any:
    spec = importlib.util.spec_from_file_location("measure_the_house", ROOT / "scripts" / "measure.py")
    assert spec is not None
    assert spec.loader is not None
    measure = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = measure  # dataclasses look their module up
    spec.loader.exec_module(measure)
    return measure.measure(ROOT)


def test_no_rooms_import_each_other_in_a_circle(measured: Any) -> None:
    assert measured.cycles == []


def test_no_folder_is_too_full(measured: Any) -> None:
    full = {folder: count for folder, count in measured.modules_in_folder.items() if count > MOST_MODULES}
    assert set(full) <= {"secure_sapefl/cli"}, full


def test_next_to_nothing_is_said_twice(measured: Any) -> None:
    assert measured.repeated_percent < MOST_REPEATED


def test_every_module_has_a_test_of_its_name(measured: Any) -> None:
    assert measured.without_a_test == [], (
        "tests/ROOM/test_NAME.py for each; what a package exports is tried in test_package.py"
    )


def private_reaches(source: str, tested: str = "") -> Iterator[int]:
    """Lines that use a private name of something else; a test may use those of the module it is named after."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=owner, attr=name) if is_private(name):
                if not (isinstance(owner, ast.Name) and owner.id in {*OWN, tested}):
                    yield node.lineno
            case ast.ImportFrom(names=names) if any(is_private(alias.name) for alias in names):
                yield node.lineno


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NOT_PRIVATE


def says_why(lines: list[str], number: int) -> bool:
    """A comment on the line, or on a line of its own above."""
    return "  # " in lines[number - 1] or lines[number - 2].lstrip().startswith("#")


def unexplained(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        reaches = sorted(set(private_reaches(source, path.stem.removeprefix("test_"))))
        found += [f"{path.relative_to(ROOT)}:{number}" for number in reaches if not says_why(lines, number)]
    return found


@pytest.mark.parametrize("folder", ["secure_sapefl", "crypto", "scripts", "tests"])
def test_nothing_reaches_into_private_names_without_saying_why(folder: str) -> None:
    assert unexplained(ROOT / folder) == []


def test_the_search_finds_them() -> None:
    source = "from a import _b\nself._c = x._d\nself.e._f()\nx._replace()\nx.__dict__\nseal._g\n"
    assert list(private_reaches(source, "seal")) == [1, 2, 3]
    assert not says_why(source.splitlines(), 2)
    assert says_why(["# for a reason", "x._d"], 2)
