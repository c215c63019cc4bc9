"""docs/tables.md, typed as it stands: from a hospital's file to a deployed study and predictions for new patients."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from secure_sapefl.transport.flower import free_port
from tests.test_docs import ROOT, blocks

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "tables.md"
PATIENCE = 2400


def typed(folder: Path) -> str:
    """The page's blocks in their order, as one shell types them."""
    lines = ["set -euo pipefail", f"export PORT={free_port()}"]
    for block in blocks(PAGE):
        if block.language == "python":
            (folder / "made_up.py").write_text(block.text, encoding="utf-8")
            lines.append(f"{sys.executable} made_up.py")
        elif block.language == "bash":
            lines += block.text.splitlines()
    return "\n".join(lines) + "\n"


def test_the_page_from_file_to_predictions(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "secure-sapefl").write_text(f'#!/bin/sh\nexec {sys.executable} -m secure_sapefl "$@"\n')
    (tools / "secure-sapefl").chmod(0o755)
    (tmp_path / "page.sh").write_text(typed(tmp_path), encoding="utf-8")
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "page.sh"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    predicted = [row for row in csv.reader(done.stdout.splitlines()) if row and row[0].startswith("F-009")]
    assert len(predicted) == 5
    assert all(0 <= float(value) <= 1 for row in predicted for value in row[2:])
    tables = [json.loads(path.read_text()) for path in tmp_path.glob("*/studies/*/table-1.json")]
    assert len(tables) == 4
    assert all(one == tables[0] for one in tables)
    records = next(line for line in tables[0]["lines"] if line["column"] == "records")
    assert records["values"]["all"] == 480
