"""How a chart becomes a file: PNG on white, or SVG that takes its colours from the page around it.

Figures are made directly, never through pyplot, so nothing global is left behind. In the SVG every colour of the
palette is replaced by a CSS variable and ink by `currentColor`; light and dark pages then show the same drawing.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

INK = "#1f2328"
FAINT = "#80868e"  # one of many sites; readable on white and on black
SERIES = ("#0072b2", "#d55e00", "#00795a", "#a6478a", "#806600")  # after Okabe and Ito, darkened to 4.5:1 on white
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", ":", "-.")

_THEMED = {INK: "currentColor", **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, 1)}}
_COLOUR = re.compile("|".join(_THEMED))
_ONE_AT_A_TIME = Lock()  # matplotlib's settings are global, and a live page is drawn in a thread of its own
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # a site may be called $x$
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "hatch.color": FAINT,
    "hatch.linewidth": 0.6,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "secure-sapefl",  # the same run gives the same page, byte for byte
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn, and the same in words for those who cannot see it."""

    name: str
    title: str
    caption: str
    alt: str
    draw: Callable[[Figure], None]
    height: float = 3.1
    width: float = 5.2


def save_png(chart: Chart, path: Path) -> None:
    with _drawn(chart) as figure:
        figure.suptitle(chart.title, fontsize=10)
        figure.savefig(path, format="png", dpi=160, facecolor="white")


def to_svg(chart: Chart, prefix: str) -> str:
    """An `<svg>` element for the inside of a page; ``prefix`` keeps its ids apart from those of other charts."""
    out = BytesIO()
    with _drawn(chart) as figure:
        figure.savefig(out, format="svg", transparent=True, dpi=160, metadata={"Date": None})
    root = ElementTree.fromstring(out.getvalue())  # noqa: S314 - written by matplotlib a line above
    for parent in list(root.iter()):
        for child in [c for c in parent if _local(c.tag) in ("style", "metadata")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(key): _themed(_local(key), value, prefix) for key, value in element.attrib.items()}
    del root.attrib["width"], root.attrib["height"]
    root.attrib |= {"role": "img", "aria-label": chart.alt}
    return ElementTree.tostring(root, encoding="unicode")


@contextmanager
def _drawn(chart: Chart) -> Iterator[Figure]:
    with _ONE_AT_A_TIME, matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # browsers have more fonts
        figure = Figure(figsize=(chart.width, chart.height))
        chart.draw(figure)
        yield figure


def _local(name: str) -> str:
    """The name without its namespace: HTML parsers put `<svg>` into the right one themselves."""
    return name.rpartition("}")[2]


def _themed(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    if key in ("style", "fill", "stroke", "clip-path"):
        value = value.replace("url(#", f"url(#{prefix}-")
        return _COLOUR.sub(lambda found: _THEMED[found.group()], value)
    return value
