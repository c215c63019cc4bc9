"""Units and containers for a deployment: hardened, and with options that exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from secure_sapefl.cli.app import app

FOLDER = Path(__file__).parents[2] / "examples" / "deployment"
UNITS = sorted((FOLDER / "systemd").glob("*.service"))
COMPOSED = sorted((FOLDER / "containers").glob("compose*.yaml"))


def options_of(words: list[str]) -> set[str]:
    """Every option of the command that ``words`` begin with."""
    command = typer.main.get_command(app)
    for word in words[:2]:
        command = command.commands[word]  # type: ignore[attr-defined]
    return {name for parameter in command.params for name in parameter.opts}


def test_there_is_one_of_each_for_either_party() -> None:
    assert [path.stem for path in UNITS] == ["secure-sapefl-server", "secure-sapefl-site"]
    assert {path.stem for path in COMPOSED} == {"compose", "compose.server"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_calls_options_that_exist(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8").replace("\\\n", " ")
    words = shlex.split(re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)[0])
    assert {word for word in words if word.startswith("--")} <= options_of(words[1:])


@pytest.mark.parametrize("file", COMPOSED, ids=lambda path: path.stem)
def test_a_container_calls_options_that_exist_and_drops_what_it_can(file: Path) -> None:
    (service,) = yaml.safe_load(file.read_text(encoding="utf-8"))["services"].values()
    words = service["command"]
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options_of(words)
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert ("ports" in service) == (words[0] == "server")


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here: units were not rated")
def test_a_unit_is_rated_below_four(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", str(unit)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (rated,) = re.findall(r"Overall exposure level for \S+: (\d+\.\d+)", said)
    assert float(rated) < 4
