"""The report of a run: plots beside its numbers, and one self-contained page."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from secure_sapefl.report.charts.drawing import save_png
from secure_sapefl.report.charts.run import charts_of
from secure_sapefl.report.model_card import model_card
from secure_sapefl.report.page import render_page
from secure_sapefl.report.run import load_run
from secure_sapefl.storage.files import write_whole, writing


def write_report(folder: Path | str) -> None:
    """Write `plots/*.png` and `report.html` into the folder of a finished run."""
    folder = Path(folder)
    run = load_run(folder)
    plots = folder / "plots"
    with _writing(plots):
        plots.mkdir(exist_ok=True)
        for chart in charts_of(run):
            save_png(chart, plots / f"{chart.name}.png")
    write_page((folder,), folder / "report.html")


def write_page(folders: Sequence[Path | str], path: Path | str) -> None:
    """Write one page about one or several finished runs; every folder is read before anything is written."""
    _write(Path(path), render_page([load_run(Path(folder)) for folder in folders]))


def write_model_card(folder: Path | str, path: Path | str) -> None:
    """Write a model card, in Markdown, about a finished run."""
    _write(Path(path), model_card(load_run(Path(folder))))


def _write(path: Path, text: str) -> None:
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


def _writing(path: Path) -> AbstractContextManager[None]:
    return writing(path, "Choose another --out.")
