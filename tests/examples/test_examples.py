"""Every example runs, scaled down, with the command its README shows, and prints what its README shows."""

import re
import runpy
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
READMES = sorted(EXAMPLES.glob("*/README.md"))
HEADING = re.compile(r"^(.+)\n-{3,}$", re.MULTILINE)
Run = Callable[..., str]


@pytest.fixture
def command() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "__main__.py"), run_name="examples")


@pytest.fixture
def out() -> Iterator[Path]:
    """A short path: sites have sockets in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "out"


@pytest.fixture
def quick(command: dict[str, Any], out: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(name: str) -> str:
        code = command["main"]([name, "--quick", "--out", str(out)])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        assert "run 1 of" in captured.err, "no progress"
        return captured.out

    return run


def shown(readme: Path, name: str) -> str:
    """The output under the example's command."""
    text = readme.read_text(encoding="utf-8").partition(f"python examples {name}\n")[2]
    return text.partition("```text\n")[2].partition("```")[0]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("name", "readme", "plots"),
    [
        ("heart_hospitals", "heart_hospitals", {"auc.png", "calibration.png"}),
        ("wearables_har", "wearables_har", {"late.png"}),
        ("imaging", "imaging", {"pneumonia.png", "blood.png"}),
        pytest.param("heart_network", "heart_hospitals", set(), marks=pytest.mark.slow),
    ],
)
def test_it_runs_and_prints_what_its_readme_shows(
    quick: Run, out: Path, name: str, readme: str, plots: set[str]
) -> None:
    printed = quick(name)
    assert re.search(r"^In all: \d+ s\.$", printed, re.MULTILINE)
    assert {path.name for path in out.glob("*.png")} == plots
    headings = HEADING.findall(printed)
    assert headings
    assert HEADING.findall(shown(EXAMPLES / readme / "README.md", name)) == headings


def test_every_command_of_the_readmes_is_one(command: dict[str, Any]) -> None:
    lines = [line for readme in READMES for line in readme.read_text().splitlines() if line.startswith("python ")]
    names = {shlex.split(line)[2] for line in lines}
    assert names == set(command["EXAMPLES"])
    assert all(shlex.split(line)[:2] == ["python", "examples"] for line in lines)


def test_a_mistake_is_a_sentence(
    command: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAPEFL_DATA", str(tmp_path / "gone"))
    assert command["main"](["imaging", "--quick", "--out", str(tmp_path / "out")]) == 2
    assert "SAPEFL_DATA names" in capsys.readouterr().err


def test_a_folder_too_long_for_sockets_is_refused_before_anything_starts(
    command: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command["main"](["heart_network", "--quick", "--out", str(tmp_path / ("long" * 25))]) == 2
    assert "characters too long for the sites' sockets" in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*"))


def test_plots_are_small_and_shown() -> None:
    for readme in READMES:
        pictures = re.findall(r"!\[.{20,}\]\((\S+\.png)\)", readme.read_text(encoding="utf-8"))
        assert set(pictures) == {path.name for path in readme.parent.glob("*.png")}
        assert all((readme.parent / picture).stat().st_size < 100_000 for picture in pictures)
