"""Options are read off the fields of a class: one line there is an option, its help, a TOML key, a row of the docs."""

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from secure_sapefl.cli import ablate, budget, compare, figures, robustness, simulate, study
from secure_sapefl.cli.app import main
from secure_sapefl.cli.experiment_options import FIXED
from secure_sapefl.cli.setting_options import setting_options, takes
from secure_sapefl.config import Config, Settings, setting
from secure_sapefl.errors import BadInput
from secure_sapefl.study.settings import StudySettings


class Inner(Settings):
    depth: int = setting("Privacy", ..., "How deep.", ge=1)


class Wider(Config):
    patience: float | None = setting("Training", 2.5, "Rounds without news, p.", gt=0, le=9)
    colour: Literal["red", "blue"] = setting("Running", "red", "Of the line.")
    dry: bool = setting("Running", False, "Only look.")
    inner: Inner | None = None


Given = list[dict[str, Any]]


@pytest.fixture
def given() -> Given:
    return []


@pytest.fixture
def app(given: Given) -> typer.Typer:
    made = typer.Typer(rich_markup_mode="markdown")

    @made.command()
    @takes(Wider, without={"threads"}, defaults={"rounds": 30})
    def go(settings: dict[str, Any], times: int = 1) -> None:
        """Go."""
        given.append({**settings, "times": times})

    return made


def invoke(app: typer.Typer, *arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    return result.output


def test_a_new_field_is_an_option_with_type_default_bounds_and_help(app: typer.Typer) -> None:
    lines = re.sub(r"\s+", " ", invoke(app, "--help"))
    assert "--patience NUMBER Rounds without news, p. [above 0, at most 9; default: 2.5]" in lines
    assert "--colour [red|blue] Of the line. [default: red]" in lines
    assert "--dry Only look." in lines
    assert "--depth INTEGER How deep. [at least 1]" in lines
    assert "--rounds INTEGER Rounds of training, T. [at least 1; default: 30]" in lines
    assert "--threads" not in lines


def test_panels_stand_in_their_order(app: typer.Typer) -> None:
    panels = re.findall(r"─ (\w+) ─", invoke(app, "--help"))
    assert panels == ["Options", "Data", "Federation", "Training", "Privacy", "Protection", "Running"]


def test_a_new_field_is_a_key_of_the_file(app: typer.Typer, given: Given) -> None:
    invoke(app, "--patience", "3", "--colour", "blue", "--dry", "--depth", "2", "--option", "a=1", "--option", "b=x")
    (values,) = given
    assert values.pop("times") == 1
    config = Wider.read(values, "the command line")
    assert (config.patience, config.colour, config.dry, config.inner) == (3, "blue", True, Inner(depth=2))
    assert (config.rounds, config.options) == (30, {"a": 1, "b": "x"})
    text = config.to_toml()
    assert {"patience = 3.0", 'colour = "blue"', "dry = true", "[inner]", "depth = 2"} <= set(text.splitlines())


def test_what_nobody_typed_is_left_to_the_file(app: typer.Typer, given: Given) -> None:
    invoke(app, "--times", "2")
    assert given == [{"rounds": 30, "times": 2}]


def test_bounds_are_kept_by_the_class_in_its_own_sentence(app: typer.Typer, given: Given) -> None:
    invoke(app, "--patience", "10")
    with pytest.raises(BadInput, match=r"the command line: patience = 10\.0 is not possible: .* 9"):
        Wider.read({"patience": given[0]["patience"]}, "the command line")


def parameters(command: Callable[..., None]) -> set[str]:
    return set(inspect.signature(command).parameters)


def test_every_command_takes_every_setting_that_is_not_its_own_affair() -> None:
    fields = set(Config.model_fields) - {"dp_public", "agreed"}  # lists and numbers: keys of files
    assert fields <= parameters(simulate.simulate)
    assert fields >= FIXED  # a name that is no setting would leave out nothing
    for command in (compare.compare, ablate.ablate, figures.figures):
        assert fields - FIXED <= parameters(command)
    assert fields - FIXED - {"scores"} <= parameters(robustness.robustness)  # the table shows weights, so they are open
    assert fields - FIXED - {"dp_epsilon", "dp_delta", "dp_noise"} <= parameters(budget.budget)  # it shows both kinds
    assert {option.name for option in setting_options(StudySettings)} <= parameters(study.new)


@pytest.mark.parametrize("model", [Config, StudySettings])
def test_every_setting_says_what_it_is(model: type[Settings]) -> None:
    for option in setting_options(model):
        assert option.field.description, option.name
        assert option.field.description.rstrip().endswith("."), option.name
        assert len(option.field.description) < 100, option.name


def test_symbols_of_the_paper_stand_in_the_help() -> None:
    symbols = {"rounds": "T", "local_epochs": "E", "lr": "η", "participation": "r", "clients": "C", "kappa": "κ"}
    symbols |= {"dp_epsilon": "ε", "dp_delta": "δ"}
    for name, symbol in symbols.items():
        assert re.search(rf"\b{symbol}\b", Config.model_fields[name].description or ""), name


@pytest.mark.parametrize("command", ["simulate", "compare", "ablate", "figures", "budget", "robustness"])
def test_help_has_examples(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["secure-sapefl", command, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert not ended.value.code
    assert "Example" in said
    assert "--label" in said
    assert "--group" in said
