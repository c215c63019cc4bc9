"""The observer of docs/outputs.md that logs to MLflow, run as it stands there, against a store of files."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from secure_sapefl import Config, simulate

pytestmark = pytest.mark.skipif(
    find_spec("mlflow") is None, reason="mlflow-skinny is not installed: the observer for MLflow was not run"
)
PAGE = Path(__file__).parents[2] / "docs" / "outputs.md"
LOCAL = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}


def test_the_documented_observer_writes_every_round(tmp_path: Path) -> None:
    (script,) = re.findall(r"^```python\n(import mlflow\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    environment = {**os.environ, **LOCAL, "MLFLOW_TRACKING_URI": (tmp_path / "store").as_uri()}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, capture_output=True)
    (run,) = (path.parent for path in tmp_path.glob("store/0/*/metrics"))
    same = simulate(Config(clients=4, rounds=2, rows=400))
    for name, expected in (("accuracy", [r.personal.accuracy.mean for r in same.rounds]), ("bytes/down", None)):
        lines = [line.split() for line in (run / "metrics" / name).read_text().splitlines()]
        assert [int(step) for _, _, step in lines] == [1, 2]
        assert expected is None or [float(value) for _, value, _ in lines] == expected
    assert (run / "params" / "method").read_text() == "sapefl"
    assert "\nstatus: 3\n" in (run / "meta.yaml").read_text()  # finished
