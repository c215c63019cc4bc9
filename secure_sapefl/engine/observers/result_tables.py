"""A run's numbers as rows: what a data frame, a CSV file and the view of a notebook are made from."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Spread
from secure_sapefl.plain_text import printable
from secure_sapefl.protocol.messages import SiteId

if TYPE_CHECKING:
    import pandas

    from secure_sapefl.engine.result import Result, RoundRecord


def site_rows(record: "RoundRecord", sites: Sequence[SiteId]) -> list[dict[str, object]]:
    """A row for each site of a round that was evaluated; none of one that was not. Rounds count from 1."""
    spreads = record.spreads()
    weights = dict(record.weights)
    return [
        {"round": record.round_index + 1, "site": site, **_values(spreads, c), "weight": weights.get(site)}
        for c, site in enumerate(sites)
        if spreads
    ]


def _values(spreads: dict[str, Spread], place: int) -> dict[str, float]:
    return {name: spread.per_client[place] for name, spread in spreads.items()}


def frame(result: "Result") -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError:
        raise BadInput("pandas is not installed: pip install 'secure-sapefl[tables]'.") from None
    rows = [row for record in result.rounds for row in site_rows(record, result.facts["client_names"])]
    return pandas.DataFrame(rows).astype({"weight": "Int64"} if rows else {})


def title(result: "Result") -> str:
    """On one line, for a terminal."""
    facts, done = result.facts, len(result.rounds)
    what = f"{facts['method']} on {facts['dataset']}: {len(facts['client_names'])} sites, {facts['protection']}"
    return printable(f"{what}, {result.parameters:,} parameters, after {done} round{'' if done == 1 else 's'}")


def view(result: "Result") -> str:
    """The last round as HTML: every metric over the sites, and every site's own. Names are text, whatever they hold."""
    facts, spreads = result.facts, result.last.spreads() if result.rounds else {}
    means = _table(
        ("metric", "mean", "spread over sites"),
        [(_words(name), _number(spread.mean), _number(spread.std)) for name, spread in spreads.items()],
    )
    sites = _table(
        ("site", *map(_words, spreads)),
        [(s, *map(_number, _values(spreads, c).values())) for c, s in enumerate(facts["client_names"])],
    )
    every_site = f"<details><summary>Every site</summary>{sites}</details>"
    return f"<div><p><b>{_text(title(result))}</b></p>{means}{every_site}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return (
        f"<table><thead>{_line('th', head)}</thead><tbody>{''.join(_line('td', row) for row in rows)}</tbody></table>"
    )


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _text(words: object) -> str:
    return escape(printable(words))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(value: Any) -> str:
    return "–" if value is None or value != value else f"{value:.4f}"
