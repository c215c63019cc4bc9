"""Plain tables whose cells may come from a file: shown as they are, never as markup."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from secure_sapefl.plain_text import printable


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    _print(Table(*columns, title=title, title_justify="left"), rows)


def print_rows(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """Names and values, without a header."""
    _print(Table(title=title, show_header=False, title_justify="left"), rows)


def cell(value: object) -> Text:
    """Rich takes escape sequences inside a `Text` for the terminal's own; here they are replaced."""
    return Text(printable(value), overflow="fold")


def _print(table: Table, rows: Iterable[Iterable[object]]) -> None:
    for row in rows:
        table.add_row(*(value if isinstance(value, Text) else cell(value) for value in row))
    Console().print(table)
