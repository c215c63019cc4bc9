"""A release can be built again to the byte, and the check would notice if not."""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed: no release was built twice")

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("reproducible", ROOT / "scripts" / "reproducible.py")
reproducible = importlib.util.module_from_spec(SPEC)
sys.modules["reproducible"] = reproducible
SPEC.loader.exec_module(reproducible)

PROJECT = {
    "pyproject.toml": '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    '[project]\nname = "small"\nversion = "1"\nrequires-python = ">=3.11"\n',
    "small/__init__.py": "",
}


@pytest.fixture
def sources(tmp_path):
    for name, text in PROJECT.items():
        file = tmp_path / "sources" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "sources"


def build(sources, under, place, epoch=1_600_000_000):
    return reproducible.build(sources, list(PROJECT), epoch, under, place)


def test_circumstances_do_not_matter_and_contents_do(sources, tmp_path):
    one = build(sources, reproducible.ONE, tmp_path / "1")
    other = build(sources, reproducible.OTHER, tmp_path / "2")
    assert sorted(one) == ["small-1-py3-none-any.whl", "small-1.tar.gz"]
    assert reproducible.compare(one, other) == []
    (sources / "small/__init__.py").write_text("built = 2\n")
    changed = build(sources, replace(reproducible.ONE, folder="c"), tmp_path / "3")
    assert reproducible.compare(one, changed) == sorted(one)


def test_an_archive_that_is_missing_is_named():
    assert reproducible.compare({"a": "1", "b": "2"}, {"a": "1"}) == ["b"]


def test_a_build_that_fails_is_a_sentence(sources, tmp_path):
    (sources / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(SystemExit, match="The build failed: "):
        build(sources, reproducible.ONE, tmp_path)


@pytest.mark.slow
def test_our_own_release_can_be_built_again():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: the release was not built twice")
    command = [sys.executable, str(ROOT / "scripts" / "reproducible.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  secure_sapefl-") == 2
