"""The house in numbers: known answers on a small tree."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("measure", ROOT / "scripts" / "measure.py")
measure = importlib.util.module_from_spec(SPEC)
sys.modules["measure"] = measure
SPEC.loader.exec_module(measure)

SIX = "".join(f"    step_{n} = {n}\n" for n in range(6))


@pytest.fixture
def tree(tmp_path):
    files = {
        "secure_sapefl/__init__.py": "",
        "secure_sapefl/a/one.py": f"from secure_sapefl.b import two\ndef f():\n    'Doc.'\n{SIX}LIMIT = 3\n_own = 4\n",
        "secure_sapefl/b/two.py": f"def g():\n{SIX}class Public:\n    pass\n",
        "secure_sapefl/c/long.py": "x = 1\n" * 41,
        "crypto/sapefl_crypto/key.py": "def k():\n    return 1\n",
        "tests/a/test_one.py": "def test():\n    assert True\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_known_answers(tree):
    found = measure.measure(tree)
    assert (found.files, found.lines, found.test_lines) == (5, 11 + 9 + 41 + 2, 2)
    assert found.longest_file == ("secure_sapefl/c/long.py", 41)
    assert (found.functions, found.median_function) == (3, 6)
    assert found.public_names == len(["f", "LIMIT", "g", "Public", "x", "k"]) + 40
    assert found.imports == {"__init__": [], "a": ["b"], "b": [], "c": [], "crypto": []}
    assert found.cycles == []
    assert found.modules_in_folder["secure_sapefl/a"] == 1
    assert found.without_a_test == ["secure_sapefl/c/long.py"]


def test_a_run_of_six_lines_elsewhere_counts_as_repeated_five_do_not(tree):
    (tree / "secure_sapefl/c/long.py").write_text("")
    counted = (1 + 1 + 6 + 2) + (1 + 6 + 2) + 2  # without imports; the docstring is a line
    assert measure.measure(tree).repeated_percent == round(100 * 12 / counted, 2)
    two = tree / "secure_sapefl/b/two.py"
    two.write_text(two.read_text().replace("step_5", "other"))
    assert measure.measure(tree).repeated_percent == 0


def test_rooms_that_reach_each_other_are_a_cycle_however_long_the_way(tree):
    (tree / "secure_sapefl/b/two.py").write_text("def g():\n    from secure_sapefl.c.long import x\n")
    (tree / "secure_sapefl/c/long.py").write_text("import secure_sapefl.a.one\n")
    assert measure.measure(tree).cycles == [["a", "b", "c"]]


def test_the_command_prints_a_table_or_json(tree):
    command = [sys.executable, str(ROOT / "scripts" / "measure.py"), str(tree)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "cycles among folders                  none" in text
    document = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert document["files"] == 5


def test_without_a_history_nothing_is_said_about_0_1_0(tree):
    found = measure.measure(tree)
    assert found.growth is None
    assert "of them for what 0.1.0 had            unknown" in measure.table(found)
