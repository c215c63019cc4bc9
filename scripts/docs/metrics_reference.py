"""The tables of metrics, read off the gauges in the code: a new gauge is a new row."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from secure_sapefl.transport import metrics
from secure_sapefl.transport.metrics import Gauge

_GAUGES: dict[str, tuple[Gauge, ...]] = {
    "SERVER_GAUGES": metrics.SERVER_GAUGES,
    "SITE_GAUGES": metrics.SITE_GAUGES,
}
_PLACE = re.compile(r"<!-- gauges of (\w+): .* -->")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return _PLACE.sub(lambda found: table(_GAUGES[found[1]]), markdown)


def table(gauges: tuple[Gauge, ...]) -> str:
    rows = (f"| `{gauge.name}` | {gauge.text} |" for gauge in gauges)
    return "| metric | meaning |\n|---|---|\n" + "\n".join(rows)
