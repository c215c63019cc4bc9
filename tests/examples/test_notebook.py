"""The notebook runs in a kernel of its own and shows what the stored one shows; its numbers are a machine's."""

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: the notebook was not run")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: the notebook was not run")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: the notebook was not run")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "hospitals.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    return nbclient.NotebookClient(notebook, kernel_name="python3", resources=where).execute()


def shown(notebook: Any) -> list[list[tuple[str, ...]]]:
    """Of every cell, the kinds of what stands under it."""
    return [
        [(output.output_type, *sorted(output.get("data", ()))) for output in cell.get("outputs", ())]
        for cell in notebook.cells
    ]


def pages(notebook: Any) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]


def test_it_shows_what_is_stored(executed: Any) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert shown(executed) == shown(stored)
    assert sum(len(cell) for cell in shown(stored)) >= 7
    for kind in ("stderr", "error"):  # neither a warning nor a traceback
        assert kind not in {
            output.get("name", output.output_type) for cell in stored.cells for output in cell.get("outputs", ())
        }


def test_the_bars_are_full_and_the_result_shows_itself(executed: Any) -> None:
    html = pages(executed)
    bars = [found.groups() for page in html if (found := re.search(r'max="(\d+)" value="(\d+)"', page))]
    assert bars == [("6", "6")] * 3
    assert any("<summary>Every site</summary>" in page and "cleveland" in page.lower() for page in html)
