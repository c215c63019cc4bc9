"""What all commands that run experiments do alike: read tables, go on where they stopped, refuse in sentences."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("unrendered")
DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
TINY = ("--clients", "2", "--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--out", "out")
COMPARE = ("compare", "--methods", "local,fedavg", "--partition", "iid", *TINY)
Cli = Callable[..., Any]


def test_the_same_command_again_only_reads(cli: Cli) -> None:
    first = cli(*COMPARE, *DATA, "--format", "json")
    cells = {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()}
    again = cli(*COMPARE, *DATA, "--format", "json")
    assert again.out == first.out
    assert again.err.count("found finished") == 2
    assert {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()} == cells


BAD = {
    "dataset": (("compare", "--dataset", "synthetik"), "Did you mean 'synthetic'?"),
    "file": (("compare", "--dataset", "no/such.npz"), "no/such.npz"),
    "method": (("compare", "--methods", "fedvag"), "Did you mean 'fedavg'?"),
    "no method": (("compare", "--methods", ","), "No method is named"),
    "method twice": (("compare", "--methods", "local,fedavg,local"), "'local' is named more than once"),
    "dataset twice": (("compare", "--dataset", "synthetic,synthetic"), "'synthetic' is named more than once"),
    "method option": (("compare", "--methods", "fedprox:mo=1"), "mo"),
    "method option form": (("compare", "--methods", "fedprox:mu"), "KEY=VALUE"),
    "seeds": (("compare", "--seeds", "0"), "--seeds is 0"),
    "rows": (("compare", "--rows", "0"), "rows"),
    "rounds": (("compare", "--rounds", "0"), "rounds"),
    "clients": (("compare", "--clients", "5000"), "Ask for at most 1000 sites"),
    "partition": (("compare", "--partition", "dirichlt"), "partition"),
    "natural": (("compare", "--dataset", "synthetic@natural"), "no groups"),
    "model": (("compare", "--model", "huge"), "model"),
    "protection": (("compare", "--protection", "none"), "protection"),
    "jobs": (("compare", "--jobs", "0"), "--jobs"),
    "trial rounds": (("compare", "--tune-rounds", "3"), "--tune"),
    "data option": (("compare", "--data-option", "row=3"), "Did you mean 'rows'?"),
    "data folder": (("compare", "--data-dir", "nowhere", "--dataset", "har"), "nowhere"),
    "ablation": (("ablate", "colour"), "colour"),
    "ablated dataset": (("ablate", "kappa", "--dataset", "synthetik"), "Did you mean 'synthetic'?"),
    "figure": (("figures", "pie"), "pie"),
    "figure's rounds": (("figures", "trajectories", "--rounds", "-1"), "rounds"),
}


@pytest.mark.parametrize(("arguments", "word"), BAD.values(), ids=BAD)
def test_bad_input_is_a_sentence_and_leaves_nothing_behind(cli: Cli, arguments: tuple[str, ...], word: str) -> None:
    answer = cli(*arguments)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert word in answer.err
    assert not list(Path().iterdir())


def test_a_damaged_cell_is_named(cli: Cli) -> None:
    assert cli(*COMPARE, *DATA).code == 0
    cell = next(Path("out/cells").glob("fedavg-*"))
    cell.write_text(cell.read_text()[:100])
    answer = cli(*COMPARE, *DATA)
    assert answer.code == 2
    assert cell.name in answer.err


def test_an_output_folder_that_is_a_file_is_said(cli: Cli) -> None:
    Path("out").write_text("mine")
    answer = cli(*COMPARE, *DATA)
    assert answer.code == 2
    assert "Cannot write to" in answer.err
    assert Path("out").read_text() == "mine"


COLUMNS = ("--label", "outcome", "--group", "hospital")
SHORT = ("--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--participation", "1", "--out", "out")
READERS = {
    "compare": ("compare", "--methods", "local"),
    "budget": ("budget", "--methods", "local", "--epsilons", "4,inf", "--data-option", "standardise=none"),
    "influence": ("ablate", "influence"),
    "threshold": ("ablate", "threshold"),
    "trajectories": ("figures", "trajectories"),
    "weak clients": ("figures", "weak-clients"),
}


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_a_csv_is_read_and_its_hospitals_are_the_sites(cli: Cli, hospitals: Path, command: tuple[str, ...]) -> None:
    answer = cli(*command, "--dataset", str(hospitals), *COLUMNS, *SHORT, "--format", "json")
    assert answer.code == 0, answer.err
    assert "patients.csv: patients.csv, 90 rows; 3 sites, natural partition" in json.loads(answer.out)["setting"]


SITES = ("--clients", "2", "--partition", "iid", "--local-epochs", "1", "--participation", "1")
BUDGET = ("budget", "--rounds", "1", "--seeds", "1", "--jobs", "1", "--out", "out", *SITES, *DATA)


@pytest.mark.filterwarnings("default::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize("command", ["compare", "budget"])
def test_experiments_warn_of_a_careless_delta_once(cli: Cli, command: str) -> None:
    privacy = {"compare": ("--dp-epsilon", "4", "--dp-delta", "0.5"), "budget": ("--epsilons", "4", "--delta", "0.5")}
    code, _, err = cli(command, *BUDGET[1:], *privacy[command], "--methods", "fedavg,ditto")
    assert code == 0, err
    sentence = "secure-sapefl: delta = 0.5 is not below 1 / n at 2 of 2 sites"
    assert err.count(sentence) == 1
    assert err.startswith(sentence), "before anything is run, and so also where cells run in other processes"
    assert "PrivacyWarning" not in err
