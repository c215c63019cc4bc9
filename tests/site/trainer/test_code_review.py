"""What an owner reads about carried code before approving it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.site.policy import TEMPLATE, Policy
from secure_sapefl.site.trainer import code_review
from secure_sapefl.site.trainer.code_review import code_lines
from secure_sapefl.study.code import CarriedCode
from tests.carried_code import HONEST, carried
from tests.small_study import TABLE

Lines = Callable[..., dict[str, tuple[str, str]]]


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    (tmp_path / "policy.toml").write_text(TEMPLATE)

    def judged(source: str = HONEST, **policy: object) -> dict[str, tuple[str, str]]:
        code = CarriedCode(**carried(tmp_path, TABLE, source)["code"])
        rules = Policy.load(tmp_path / "policy.toml").model_copy(update=policy)
        return {line.topic: (line.verdict, line.says) for line in code_lines(code, rules, (tmp_path,))}

    return judged


def test_by_default_no_code_is_let_in(lines: Lines) -> None:
    assert lines()["carried code"][0] == "conflict"
    assert lines(code="reviewed")["carried code"][0] == "ok"


def test_its_digest_and_size_are_named(lines: Lines) -> None:
    says = lines()["carried code"][1]
    assert "net.py, 7 lines, function build, SHA-256 " in says


def test_what_it_imports_and_reaches_for_is_named(lines: Lines) -> None:
    found = lines(HONEST + "\nimport socket\nX = open\n")
    assert found["code: imports"][1] == "socket, torch; beyond what models are made of: socket"
    assert found["code: reaches for"][1] == "files (line 10: open), network (line 9: socket)"


def test_it_is_said_that_rows_could_hide_in_what_leaves(lines: Lines) -> None:
    assert "could hide records in what leaves" in lines()["code: what it can do"][1]


def test_a_machine_that_cannot_keep_it_in_is_a_conflict_unless_the_owner_says_so(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines()["code: kept in"][0] == "ok"
    monkeypatch.setattr(code_review, "missing_here", lambda: ("Landlock",))
    verdict, says = lines()["code: kept in"]
    assert (verdict, "this machine lacks Landlock" in says) == ("conflict", True)
    assert lines(code_unconfined=True)["code: kept in"][0] == "ok"


def test_a_folder_that_such_code_can_read_is_a_conflict(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "code: reach" not in lines()
    monkeypatch.setattr(code_review, "within_reach", lambda path: path.parent)
    assert lines()["code: reach"][0] == "conflict"
