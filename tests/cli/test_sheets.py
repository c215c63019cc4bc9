"""Tables show what they are given, and nothing a file says is taken for markup or for the terminal's own."""

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.cli.sheets import print_rows, print_table, print_wide_table

STRANGE = "[bold]a[/bold] \x1b[31mred"
SHOWN = "[bold]a[/bold] \N{REPLACEMENT CHARACTER}[31mred"


@pytest.mark.parametrize("show", [print_table, print_wide_table])
def test_title_columns_and_cells_are_shown_as_they_are(show, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    show(STRANGE, (STRANGE,), [(STRANGE,)])
    assert capsys.readouterr().out.count(SHOWN) == 3


def test_names_and_values_have_no_header(capsys):
    print_rows("Study", [("rounds", 3), ("sites", "a, b")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["Study"]
    assert [line[1:-1] for line in lines[2:-1]] == [["rounds", "│", "3"], ["sites", "│", "a,", "b"]]


def test_a_list_is_several_lines_and_a_line_end_in_a_word_is_none(capsys):
    print_table("", ("a",), [(["one", "two"],), ("three\nfour",)], caption="Above: two cells.")
    out = capsys.readouterr().out
    cells = [line.strip("│ ") for line in out.splitlines() if line.startswith("│")]
    assert cells == ["one", "two", "three\N{REPLACEMENT CHARACTER}four"]
    assert "Above: two cells." in " ".join(out.split())


@pytest.mark.parametrize(
    "command",
    [
        ["methods"], ["data", "list"], ["keys", "inspect", "a.pub"], ["study", "show", "s.toml"], ["site", "status"],
        ["server", "status"], ["site", "review", "s.toml"], ["bench", "crypto"], ["simulate"], ["audit", "run"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_format_nobody_knows_is_refused_everywhere(command):
    """`server status` and `site status` printed a table for any word (since 0.1.0)."""
    refused = CliRunner().invoke(app, [*command, "--format", "xml"])
    assert refused.exit_code == 2
    assert "'table', 'json'" in " ".join(refused.output.split())
