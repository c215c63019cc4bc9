"""Pages and notes from templates in which every value is escaped for where it stands."""

import re
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|&])")


def environment(package: str, **more: Any) -> Environment:
    """`*.html.j2` escapes by itself; in Markdown, what comes from a file goes through the filter ``plain``."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **more,
    )
    made.filters["plain"] = plain
    return made


def template(package: str, name: str) -> Template:
    return environment(package).get_template(name)


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no table cell, no HTML."""
    return _MARKDOWN.sub(r"\\\1", text)
