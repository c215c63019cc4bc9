"""What a browser would need scripts for, done at build time: equations become MathML, drawings part of the page."""

import re
from functools import cache
from html import unescape
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)
_DRAWING = re.compile(r'<img alt="(?P<alt>[^"]*)" src="(?P<name>[\w./-]+\.svg)"\s*/?>')


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    html = _INLINE.sub(lambda found: mathml(found[1], "inline"), html)
    html = _DISPLAY.sub(lambda found: f'<div class="equation">{mathml(found[1], "block")}</div>', html)
    return _DRAWING.sub(lambda found: drawing(Path(config.docs_dir) / found["name"], found["alt"]), html)


@cache
def mathml(latex: str, display: str) -> str:
    return convert(unescape(latex).strip(), display=display)


def drawing(path: Path, words: str) -> str:
    """The picture itself, so that it takes its colours from the page, light or dark."""
    svg = path.read_text(encoding="utf-8")
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
