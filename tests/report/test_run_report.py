"""Files appear where they should, and nothing is written where something is wrong."""

from importlib.resources import files

import pytest

from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.report import run_report
from secure_sapefl.report.run_report import write_page, write_report


@pytest.fixture
def plain_page(monkeypatch):
    """Where only the file counts, its content need not be drawn."""
    monkeypatch.setattr(run_report, "render_page", lambda runs: f"page of {len(runs)}")


@pytest.mark.usefixtures("plain_page")
def test_a_run_gets_its_page_and_plots(make_folder):
    folder = make_folder()
    write_report(folder)
    assert (folder / "report.html").read_text() == "page of 1"
    plots = {path.name for path in (folder / "plots").iterdir()}
    assert plots == {f"{n}.png" for n in ("accuracy", "auc", "bytes", "peers", "scores", "seconds", "similarity")}


@pytest.mark.usefixtures("plain_page")
def test_folders_on_the_way_are_made(make_folder, tmp_path):
    out = tmp_path / "new" / "page.html"
    write_page([make_folder("a"), make_folder("b")], out)
    assert out.read_text() == "page of 2"


def test_one_bad_folder_and_nothing_is_written(make_folder, tmp_path):
    with pytest.raises(BadInput):
        write_page([make_folder("a"), tmp_path / "nowhere"], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.usefixtures("plain_page")
def test_a_page_that_cannot_be_written(make_folder, tmp_path):
    with pytest.raises(OutputFailed, match="Is a directory"):
        write_page([make_folder("a")], tmp_path)
    assert not list(tmp_path.glob("*.new"))


def test_plots_that_cannot_be_written(make_folder):
    folder = make_folder()
    (folder / "plots").write_text("in the way")
    with pytest.raises(OutputFailed, match="plots"):
        write_report(folder)


def test_templates_travel_with_the_package():
    names = {path.name for path in (files("secure_sapefl.report") / "templates").iterdir()}
    assert {"report.html.j2", "run.html.j2", "comparison.html.j2", "parts.html.j2", "report.css", "table.js"} <= names
