"""A name or a path becomes a table."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.data.load import looks_like_path
from secure_sapefl.errors import UnknownName

ARGUMENTS = {"clients": 20, "partition": "dirichlet", "kappa": 0.3, "seed": 7}
ALL, SITE = "one scale for all sites", "a scale of its own at each site"


def test_an_unknown_dataset_gets_a_suggestion():
    with pytest.raises(UnknownName, match="Did you mean 'mnist'"):
        build_federation("mnits", **ARGUMENTS)


def test_made_up_clients_of_the_hospitals_data_share_a_scale_too(tmp_path: Path) -> None:
    rng, names = np.random.default_rng(0), np.array(["no_disease", "disease"])
    X, y, hospital = rng.normal(50, 9, size=(80, 13)).astype(np.float32), np.arange(80) % 2, np.arange(80) // 40
    layout = {"hospital": hospital, "hospital_names": np.array(["a", "b"]), "class_names": names}
    np.savez(tmp_path / "heart_disease.npz", X=X, y=y, **layout)

    def scale(partition: Literal["iid"] | None) -> str:
        made = build_federation("heart", clients=2, partition=partition, kappa=1.0, seed=0, data_dir=tmp_path)
        return made.preparation

    assert scale(None).startswith(SITE)
    assert scale("iid").startswith(ALL)


@pytest.mark.parametrize(
    ("text", "path"), [("mine.npz", True), ("folder/table", True), ("./mnist", True), ("mnist", False)]
)
def test_what_has_a_suffix_or_a_slash_is_a_file(text: str, path: bool) -> None:
    assert looks_like_path(text) == path
