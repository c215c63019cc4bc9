"""What another party wrote is shown as one line of plain text, on whichever way it reaches a person."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.cli import sheets
from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import LONGEST_SENTENCE, is_name, printable, sentence
from secure_sapefl.transport.logs import JsonLines, Sentences

ESCAPE = "\x1b[31m\x1b]0;owned\x07"


@given(st.text(max_size=500))
def test_a_sentence_is_one_printable_line_no_longer_than_asked(text: str) -> None:
    assert sentence(text).isprintable()
    assert len(sentence(text)) == min(len(text), LONGEST_SENTENCE)


@given(st.text(st.characters(categories=("L", "N")), max_size=LONGEST_SENTENCE))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert sentence(text) == printable(text) == text


@pytest.mark.parametrize("formatter", [Sentences(), JsonLines()], ids=["terminal", "json"])
def test_a_log_line_is_one_line_without_escapes(formatter: logging.Formatter) -> None:
    record = logging.LogRecord(
        "secure_sapefl", logging.INFO, "", 0, f"said {ESCAPE}\nforged line" + "x" * 9999, (), None
    )
    record.site = f"north{ESCAPE}"
    shown = formatter.format(record)
    assert shown.isprintable()
    assert len(shown) < 3000


def test_a_table_on_a_terminal_holds_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    sheets.print_table("t", ("a",), [(f"north{ESCAPE}",)])
    sheets.print_rows("t", [("a", ESCAPE)])
    assert "\x1b" not in capsys.readouterr().out


def test_an_error_that_repeats_a_file_is_plain_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from secure_sapefl.cli import app

    def fail() -> None:
        raise BadInput(f"the file says {ESCAPE}\nand more" + "x" * 100_000)

    monkeypatch.setattr(app, "app", fail)
    with pytest.raises(SystemExit) as ended:
        app.main()
    said = capsys.readouterr().err.removesuffix("\n")
    assert ended.value.code == 2
    assert said.isprintable()
    assert len(said) < 5000


def test_a_status_file_cannot_move_the_cursor(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from secure_sapefl.cli.app import app

    folder = tmp_path / "studies" / "d"
    folder.mkdir(parents=True)
    status = {
        "site": "north", "study": "heart", "digest": "d" * 64, "rounds": 3, "absorbed": 2, "answered": 2,
        "halted": f"round 1: {ESCAPE}", "over": False, "epsilon": None, "refused_letters": 0, "pid": None,
    }  # fmt: skip
    (folder / "status.json").write_text(json.dumps(status))
    shown = CliRunner().invoke(app, ["site", "status", "--home", str(tmp_path)]).output
    assert "halted" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("text", ["", "a\nb", ESCAPE, "x" * 129, 3, None], ids=repr)
def test_what_is_no_name(text: object) -> None:
    assert not is_name(text)
