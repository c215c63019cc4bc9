"""A deployed study of images: every site has a folder of PNG and DICOM files with labels, and predicts folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.data.folders.labelled import Roles, label_table, proposed
from secure_sapefl.site.data import load_site
from secure_sapefl.site.evaluation.findings import findings
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.policy import TEMPLATE
from secure_sapefl.site.review import review_site
from secure_sapefl.study.file import signed_text
from tests.data.folders.conftest import folder
from tests.deployed_study import NAMES, World

__all__ = ["folder"]
Folder = Callable[..., Path]


@pytest.fixture
def deployed(world: Callable[..., World], folder: Folder) -> tuple[World, dict[str, Path]]:
    """Four sites after two rounds, each with images of its own."""
    scans = {name: folder(name=f"scans-{name}", sites=(name,)) for name in NAMES}
    schema = proposed(scans["north"], label_table(scans["north"]), Roles(label="diagnosis", person="patient"))
    made = world(rounds=2, method="fedavg", model="linear", local_epochs=2, data=schema.model_dump())
    made.rows = {name: load_site(path, made.file, name) for name, path in scans.items()}
    made.start_all()
    made.run()
    return made, scans


@pytest.fixture
def north(deployed: tuple[World, dict[str, Path]], tmp_path: Path) -> tuple[SiteHome, list[str]]:
    """The site's folder, as its agent left it, and how commands name site and study."""
    made, scans = deployed
    home = SiteHome.create(tmp_path / "north.home", made.identities["north"], scans["north"], TEMPLATE)
    home.study_folder(made.file.digest).mkdir(mode=0o700)
    made.agents["north"].state.save(home.state_path(made.file.digest))
    (tmp_path / "study.toml").write_text(signed_text(made.file, made.coordinator_identity))
    return home, ["--study", str(tmp_path / "study.toml"), "--home", str(home.path)]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_folders_are_checked_learned_from_and_predicted(
    deployed: tuple[World, dict[str, Path]], north: tuple[SiteHome, list[str]], tmp_path: Path
) -> None:
    made, scans = deployed
    _, named = north
    assert all(agent.state.absorbed == 1 for agent in made.agents.values())
    fits = run("site", "check-data", named[1], "--data", str(scans["north"]))
    assert (fits.exit_code, "Everything fits" in fits.stdout) == (0, True)
    new = tmp_path / "new"
    new.mkdir()
    for name, level in (("bright", 220), ("dark", 30)):
        Image.fromarray(np.full((16, 16), level, np.uint8)).save(new / f"{name}.png")  # of another size: scaled
    (new / "broken.dcm").write_bytes(b"no image")
    found = json.loads(run("site", "predict", str(new), *named, "--format", "json").stdout)
    assert {one["record"]: one["class"] for one in found["records"]} == {"bright.png": "ill", "dark.png": "well"}
    assert [one["record"] for one in found["bad_records"]] == ["broken.dcm"]


def test_a_site_with_images_reviews_and_knows_its_model(
    deployed: tuple[World, dict[str, Path]], north: tuple[SiteHome, list[str]]
) -> None:
    made, _ = deployed
    home, _ = north
    home.policy_path.write_text(TEMPLATE.replace("judge_by = []", 'judge_by = ["clinic"]'))
    seen = findings(home, made.terms)
    judged = made.agents["north"].judged
    assert judged is not None
    assert (seen.now.own, seen.now.groups) == (judged.own, ())  # groups are columns of a table; images have none
    topics = {line.topic for line in review_site(home, made.terms).lines}
    assert "leaves: update" in topics
    assert not any("counts" in topic for topic in topics)


def test_a_folder_that_does_not_fit_is_said_before_consent(
    deployed: tuple[World, dict[str, Path]], north: tuple[SiteHome, list[str]]
) -> None:
    _, scans = deployed
    _, named = north
    (scans["east"] / "1.png").write_bytes(b"broken")
    said = run("site", "check-data", named[1], "--data", str(scans["east"]))
    assert said.exit_code == 2
    assert "1.png cannot be read" in said.stdout
