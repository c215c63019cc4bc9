"""The command as a whole: it answers at once, says its version, and names its exit codes truly."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from secure_sapefl import __version__
from secure_sapefl.cli import app as cli
from secure_sapefl.errors import BadInput, OutputFailed

HEAVY = {"torch", "tenseal", "opacus", "flwr", "matplotlib", "sklearn", "scipy"}


def module(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "secure_sapefl", *arguments], capture_output=True, text=True)


def test_help_lists_the_commands() -> None:
    answer = module("--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    for command in ("simulate", "methods", "data", "keys", "bench"):
        assert command in answer.stdout


def test_version() -> None:
    assert module("--version").stdout == f"secure-sapefl {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["data", "--help"], ["keys", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom secure_sapefl.cli.app import app\n"
        f"app({arguments!r}, standalone_mode=False)\nprint('LOADED', *sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = answer.stdout.split("LOADED")[1].split()
    assert HEAVY & set(loaded) == set()


def test_no_arguments_are_a_call_for_help() -> None:
    answer = module()
    assert answer.returncode == 2
    assert "simulate" in answer.stdout + answer.stderr


def test_an_unknown_command_is_bad_usage() -> None:
    answer = module("simulat")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "simulat" in answer.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadInput("the sentence"), 2, "secure-sapefl: the sentence\n"),
        (OutputFailed("the disk"), 2, "secure-sapefl: the disk\n"),
        (KeyboardInterrupt(), 130, "secure-sapefl: interrupted\n"),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == code
    assert capsys.readouterr().err == said


def test_a_fault_of_ours_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback is what somebody needs who has to report it."""

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`secure-sapefl methods | head -1`"""
    command = f"{sys.executable} -m secure_sapefl methods --format json | head -c 1"
    answer = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield from commands(command, f"{path}{name} ") if hasattr(command, "commands") else [(path + name, command)]


COMMANDS = dict(commands(typer.main.get_command(cli.app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_and_says_what_each_of_its_parameters_is(name: str) -> None:
    command = COMMANDS[name]
    assert f"secure-sapefl {name}" in command.help
    assert [parameter.name for parameter in command.params if not parameter.help] == []
