"""The report of one run: plots and one self-contained page."""

from pathlib import Path


def write_report(folder: Path) -> None:
    """Write `plots/*.png` and `report.html` into the folder of a finished run."""
