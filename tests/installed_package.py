"""A package that is installed for a test: a module and its entry points, as pip would leave them on the path."""

from pathlib import Path

import pytest

MODULE = """
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from torch import nn

from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.data.datasets.synthetic import SPEC as SYNTHETIC

Path(__file__).with_name("imported").touch()
METHOD = replace(FEDAVG, name="theirs", title="Their method")
DATASET = replace(SYNTHETIC, name="theirs", task="theirs")


def model(about):
    return nn.Linear(about.shape[0], about.outputs)
"""
POINTS = """
[secure_sapefl.methods]
theirs = their_package:METHOD
fedavg = their_package:METHOD
[secure_sapefl.datasets]
theirs = their_package:DATASET
number = their_package:__name__
[secure_sapefl.models]
theirs = their_package:model
[secure_sapefl.tasks]
theirs = their_package:model
"""


class Installed:
    """``imported`` says whether anybody has imported it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        about = folder / "their_package-1.2.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.2\n")
        (about / "entry_points.txt").write_text(POINTS)
        (folder / "their_package.py").write_text(MODULE)
        monkeypatch.syspath_prepend(folder)

    @property
    def imported(self) -> bool:
        return (self.folder / "imported").exists()
