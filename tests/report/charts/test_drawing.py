"""Charts as files: what a hostile name, a dark page and a second chart on the page could break."""

import re
from xml.etree import ElementTree

import matplotlib
import pytest

from secure_sapefl.report.charts.drawing import FAINT, INK, SERIES, Chart, save_png, to_svg


def chart(text="text", name="sample"):
    def draw(figure):
        axes = figure.subplots()
        axes.plot([0, 1], color=SERIES[0])
        axes.plot([1, 0], color=FAINT)
        axes.set_title(text)

    return Chart(name=name, title="Title", caption="Caption", alt="Alternative & more", draw=draw)


def test_ink_and_palette_follow_the_page():
    svg = to_svg(chart(), "a")
    assert "var(--series-1)" in svg
    assert "currentColor" in svg
    assert FAINT in svg
    assert not {INK, SERIES[0], "#ffffff", "#000000"} & set(re.findall(r"#[0-9a-f]{6}", svg))


def test_it_says_in_words_what_it_shows_and_scales():
    root = ElementTree.fromstring(to_svg(chart(), "a"))
    assert (root.get("role"), root.get("aria-label")) == ("img", "Alternative & more")
    assert root.get("viewBox")
    assert root.get("width") is None


def test_ids_of_two_charts_stay_apart_and_references_hold():
    ids = [set(re.findall(r'\bid="([^"]+)"', to_svg(chart(), prefix))) for prefix in ("a", "b")]
    assert ids[0]
    assert not ids[0] & ids[1]
    svg = to_svg(chart(), "a")
    references = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    assert references
    assert references <= ids[0]


def test_nothing_outside_is_referred_to():
    svg = to_svg(chart(), "a")
    assert "http" not in svg
    assert "<style" not in svg
    assert "<metadata" not in svg


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "]]>&<!--", "$\\frac{$", 'a" onload="x', "北京 🏥"])
def test_hostile_text_is_drawn_as_text(text):
    root = ElementTree.fromstring(to_svg(chart(text), "a"))
    assert text in {"".join(element.itertext()).strip() for element in root.iter("text")}
    assert not root.findall(".//script")
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]


def test_the_same_chart_gives_the_same_bytes():
    assert to_svg(chart(), "a") == to_svg(chart(), "a")


def test_png(tmp_path):
    save_png(chart(), tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_global_is_left_behind(tmp_path):
    before = dict(matplotlib.rcParams)
    to_svg(chart(), "a")
    assert dict(matplotlib.rcParams) == before
