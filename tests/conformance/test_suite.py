"""The whole suite on files of somebody's own: the documents' example, one without a private form, a broken one."""

import re
from pathlib import Path

import pytest

from secure_sapefl.conformance.suite import Verdict, conformity
from secure_sapefl.errors import BadInput

EXAMPLE = re.search(
    r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8"), re.DOTALL
)


def judged(path: Path, source: str) -> dict[str, Verdict]:
    path.write_text(source, encoding="utf-8")
    return {verdict.check: verdict for verdict in conformity(str(path))}


@pytest.fixture(scope="module")
def source() -> str:
    assert EXAMPLE is not None
    return EXAMPLE[1]


def test_the_documents_example_is_a_method_of_twenty_lines(tmp_path: Path, source: str) -> None:
    assert len([line for line in source.splitlines() if line.strip()]) <= 20
    verdicts = judged(tmp_path / "example.py", source)
    assert {name: one.found for name, one in verdicts.items() if one.status != "ok"} == {}
    assert {"shapes", "device", "encrypted", "hidden", "budgeted"} <= verdicts.keys()
    assert all(verdict.asks.endswith(".") for verdict in verdicts.values())


def test_a_method_without_a_private_form_is_told_what_it_lacks(tmp_path: Path, source: str) -> None:
    verdicts = judged(tmp_path / "plain.py", source.replace("    releases=one_update,\n", ""))
    assert {one.check for one in verdicts.values() if one.status != "ok"} == {"private form"}
    missing = verdicts["private form"]
    assert missing.status == "missing"
    assert "Studies with a budget refuse the method" in missing.found[0]
    assert missing.to_json()["found"] == list(missing.found)


def test_whatever_a_method_raises_is_a_finding(tmp_path: Path, source: str) -> None:
    verdicts = judged(tmp_path / "broken.py", source.replace("group.train_local()", "group.train_locally()"))
    assert verdicts["shapes"].status == "fails"
    assert "AttributeError" in verdicts["shapes"].found[0]
    assert verdicts["encrypted"].status == "fails"


def test_what_is_no_method_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("ALGORITHM = 3\n")
    with pytest.raises(BadInput, match="is int, expected an Algorithm"):
        list(conformity(str(tmp_path / "none.py")))
