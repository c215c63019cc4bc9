"""The bar under a notebook's cell; tests/examples/test_notebook.py runs a real kernel."""

import re
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.engine.observers.notebook import NotebookProgress, in_a_notebook

Make = Callable[..., Config]


class Page:
    """Stands for IPython's display: what is shown, and what it is replaced with."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, shown: object, display_id: bool) -> "Page":
        assert display_id
        self.update(shown)
        return self

    def update(self, shown: object) -> None:
        self.shown.append(shown.data)  # type: ignore[attr-defined]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    pytest.importorskip("IPython")
    page = Page()
    monkeypatch.setattr("IPython.display.display", page.display)
    return page


def test_one_bar_that_grows_round_by_round(tiny: Make, page: Page) -> None:
    result = simulate(tiny(rounds=2), observers=[NotebookProgress()])
    bars = [re.search(r'max="(\d)" value="(\d)"', shown) for shown in page.shown]
    assert [bar.groups() for bar in bars if bar] == [("2", "0"), ("2", "1"), ("2", "2"), ("2", "2")]
    assert "starting" in page.shown[0]
    assert f"round 2/2  accuracy {result.accuracy.mean:.3f}" in page.shown[-1]


def test_words_of_others_are_text(page: Page) -> None:
    bar = NotebookProgress()
    bar._news = "<script>alert(1)</script>"  # as a method's name could have it
    bar._remarks = ["<b>"]  # as a warning could have it
    assert "<script>" not in bar.to_html()
    assert "<br>&lt;b&gt;" in bar.to_html()


def test_it_is_there_in_a_kernel_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def python(shell: object) -> None:
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]

    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert in_a_notebook() == ()
    assert "IPython" not in sys.modules
    python(None)
    assert in_a_notebook() == ()
    python(SimpleNamespace())  # IPython in a terminal
    assert in_a_notebook() == ()
    python(SimpleNamespace(kernel=object()))
    (bar,) = in_a_notebook()
    assert isinstance(bar, NotebookProgress)
