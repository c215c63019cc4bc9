"""Code of the user's own: found, run once, told apart by its source, and refused in a sentence."""

import math
import re
from pathlib import Path

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.own_code import Kind, blamed, load, names_own_code, own_function, short


def some_function() -> int:
    return 3


def test_names_of_own_code_have_a_colon_or_are_a_file() -> None:
    assert names_own_code("net.py:build")
    assert names_own_code("folder/net.py")
    assert names_own_code("package.module:build")
    assert not names_own_code("small")


def test_short_names_are_fit_for_files_and_titles() -> None:
    assert [short(name) for name in ("a/b/net.py:build", "net.py", "small", "package.module:X")] == [
        "net",
        "net",
        "small",
        "package.module",
    ]


def test_a_file_runs_once_for_each_content(tmp_path: Path) -> None:
    file = tmp_path / "counted.py"
    file.write_text("from pathlib import Path\nPath(__file__).with_name('run').mkdir(exist_ok=False)\nVALUE = 1\n")
    first, again = (load(f"{file}:VALUE", "model") for _ in range(2))
    assert first == again
    (tmp_path / "run").rmdir()  # it was made once: a second run would have failed
    file.write_text(file.read_text().replace("VALUE = 1", "VALUE = 2"))
    other = load(f"{file}:VALUE", "model")
    assert other.value == 2
    assert other.digest != first.digest


def test_dataclasses_of_a_file_work(tmp_path: Path) -> None:
    file = tmp_path / "shapes.py"
    file.write_text(
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass Shape:\n    sides: 'int'\n\nONE = Shape(3)\n"
    )
    assert load(f"{file}:ONE", "model").value.sides == 3


@pytest.mark.parametrize(("kind", "usual"), [("model", "build"), ("task", "TASK"), ("method", "ALGORITHM")])
def test_a_file_alone_is_asked_for_the_usual_name(kind: Kind, usual: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"{usual} = 3\n")
    assert load(str(file), kind).value == 3
    file.write_text("other = 3\n")
    with pytest.raises(BadInput, match=f"has no '{usual}'"):
        load(str(file), kind)


def test_an_installed_module() -> None:
    found = load("math:tau", "task")
    assert found.value == math.tau
    assert load("secure_sapefl.metrics:softmax", "task").digest != found.digest


def test_a_function_that_was_passed_is_known_by_name_and_source() -> None:
    found = own_function(some_function)
    assert found.name.endswith("test_own_code:some_function")
    assert found.value() == 3
    assert (
        found.digest == own_function(test_short_names_are_fit_for_files_and_titles).digest
    )  # of the file they stand in
    assert found.digest != own_function(load).digest


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absent.py:build", "The model: cannot read absent.py"),
        (":build", "is not FILE.py:NAME"),
        ("net.py:", "is not FILE.py:NAME"),
        ("no_such_package.module:build", "cannot be imported"),
        ("math:no_such_thing", "math has no 'no_such_thing'"),
    ],
)
def test_what_is_not_there_is_named(name: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        load(name, "model")


def test_a_file_that_fails_and_one_without_the_name(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("1 / 0\n")
    with pytest.raises(BadInput, match=r"cannot be run .ZeroDivisionError"):
        load(f"{tmp_path / 'fails.py'}:build", "model")
    (tmp_path / "other.py").write_text("def make(about):\n    pass\n")
    with pytest.raises(BadInput, match=r"has no 'build'\. It defines: make"):
        load(f"{tmp_path / 'other.py'}:build", "model")


def test_a_file_that_ends_the_process_is_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(BadInput, match=r"program.py cannot be run \(SystemExit: 0\)"):
        load(f"{tmp_path / 'program.py'}", "model")


def test_an_error_is_put_down_to_the_file_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def half(n):\n    return int(n) / 2\n")
    half = load(f"{tmp_path / 'mine.py'}:half", "model").value
    with pytest.raises(ValueError, match="invalid literal") as raised:
        half("three")
    assert re.search(r"mine.py, line 2, in half: ValueError: invalid literal .*\. That is", blamed(raised.value) or "")
    with pytest.raises(ValueError, match="invalid literal") as raised:
        int("three")
    assert blamed(raised.value) is None
