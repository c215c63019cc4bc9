"""Numbers as people read them. What is not there is a dash."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from secure_sapefl.intervals import SiteMean

NOTHING = "–"
_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def _or_dash(text: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: NOTHING if value is None or math.isnan(value) else text(value)


percent = _or_dash(lambda value: f"{100 * value:.1f} %")
decimal = _or_dash(lambda value: f"{value:.3f}")
share = _or_dash(lambda value: f"{100 * value:.1f}%")  # as CSS wants it
points = _or_dash(lambda value: f"{100 * value:+.1f}".replace("-", "−"))
signed = _or_dash(lambda value: f"{value:+.3f}".replace("-", "−"))
seconds = _or_dash(lambda value: f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms")


@_or_dash
def size(count: float) -> str:
    """Three digits are enough: 139 kB, 7.98 MB."""
    unit = next((unit for unit in _UNITS if count < 999.5 * _UNITS[unit]), "GB")
    return f"{count / _UNITS[unit]:.3g} {unit}"


def interval(value: SiteMean, form: Callable[[float | None], str]) -> str:
    """``47.9 % to 55.5 %``, or why there is none."""
    if value.low is None:
        return "no site has it" if value.sites == 0 else "one site, no interval"
    return f"{form(value.low)} to {form(value.high)}"


def shorten(text: str, most: int = 16) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


FILTERS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType(
    {
        "percent": percent,
        "decimal": decimal,
        "points": points,
        "seconds": seconds,
        "size": size,
        "share": share,
        "interval": interval,
    }
)
"""For templates."""
