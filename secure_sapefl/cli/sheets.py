"""Every table of the command line. Words in it may come from a file: they are shown as they are, never as markup."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from secure_sapefl.plain_text import printable

Rows = Iterable[Iterable[object]]


def print_table(title: str, columns: Sequence[str], rows: Rows, *, caption: str = "", lines: bool = False) -> None:
    """``lines`` draws one between rows, where cells have several lines of their own."""
    _print(Table(caption=caption or None, show_lines=lines), title, columns, rows)


def print_wide_table(title: str, columns: Sequence[str], rows: Rows) -> None:
    """Without borders, for many columns."""
    _print(Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0)), title, columns, rows)


def print_rows(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """Names and values, without a header."""
    _print(Table(show_header=False), title, ("", ""), rows)


def cell(value: object) -> Text:
    """Rich takes escape sequences inside a `Text` for the terminal's own; here they are replaced. A list is several
    lines."""
    lines = value if isinstance(value, list) else [value]
    return Text("\n".join(map(printable, lines)), overflow="fold")


def _print(table: Table, title: str, columns: Sequence[str], rows: Rows) -> None:
    table.title, table.title_justify = cell(title) if title else None, "left"
    for name in columns:
        table.add_column(cell(name))
    for row in rows:
        table.add_row(*(value if isinstance(value, Text) else cell(value) for value in row))
    Console().print(table)
