"""Models that a study carries: an honest one, and what stands in for its hostile sisters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from secure_sapefl.study.built import carrying

HONEST = '''\
"""A small network that is none of ours."""

from torch import nn


def build(about):
    return nn.Sequential(nn.Linear(about.shape[0], 6), nn.Tanh(), nn.Linear(6, about.outputs))
'''


def carried(folder: Path, data: Mapping[str, Any], source: str | None = None, **more: Any) -> dict[str, Any]:
    """The fields of a study that carries ``source``, declared as the honest model is."""
    path = folder / "net.py"
    path.write_text(HONEST)
    fields = carrying({"model": f"{path}:build", "data": data, **more})
    code = {**fields["code"], "source": source or HONEST}
    return {"model": fields["model"], "code": code}
