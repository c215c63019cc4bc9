"""`compare`, `ablate` and `figures` from the outside: clean output, files, bad input."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.cli.compare import tasks_of

DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
TINY = ("--clients", "2", "--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--out", "out")
COMPARE = ("compare", "--methods", "local,fedavg", "--partition", "iid", *TINY)
PNG = b"\x89PNG"


Cli = Callable[..., Any]


def test_json_is_all_there_is_on_stdout_and_equals_the_file(cli: Cli) -> None:
    answer = cli(*COMPARE, *DATA, "--format", "json")
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert document == json.loads(Path("out/comparison.json").read_text())
    assert [(r["method"], r["metric"]) for r in document["records"]] == [
        *(("local", "accuracy"), ("local", "auc"), ("fedavg", "accuracy"), ("fedavg", "auc"))
    ]
    assert any("plaintext" in line for line in document["setting"])
    assert "comparing 2/2" in answer.err
    assert "left" in answer.err


def test_files_and_table_say_the_same(cli: Cli) -> None:
    answer = cli(*COMPARE, *DATA, "--quiet")
    assert answer.code == 0
    assert answer.err == ""
    rows = list(csv.DictReader(Path("out/comparison.csv").read_text().splitlines()))
    text = Path("out/comparison.md").read_text()
    for row in rows:
        assert f"{100 * float(row['mean']):.2f}" in text
        assert f"{100 * float(row['mean']):.2f}" in answer.out
    assert "80.64 ± 0.24" in answer.out  # the paper's Local-only on synthetic data
    for metric in ("accuracy", "auc"):
        assert Path(f"out/comparison-{metric}.png").read_bytes().startswith(PNG)


def test_the_same_command_again_only_reads(cli: Cli) -> None:
    first = cli(*COMPARE, *DATA, "--format", "json")
    cells = {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()}
    again = cli(*COMPARE, *DATA, "--format", "json")
    assert again.out == first.out
    assert again.err.count("found finished") == 2
    assert {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()} == cells


def test_a_dataset_divided_two_ways_a_file_and_a_method_with_options(cli: Cli) -> None:
    rng = np.random.default_rng(0)
    np.savez("mine.npz", X=rng.normal(size=(60, 4)), y=np.arange(60) % 3, group=np.arange(60) % 2)
    answer = cli(
        "compare", "--dataset", "mine.npz@iid", "--dataset", "mine.npz@natural,mine.npz",
        "--methods", "fedprox,fedprox:mu=0.5", *TINY, "--format", "json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    records = json.loads(answer.out)["records"]
    assert {record["dataset"] for record in records} == {"mine.npz (iid)", "mine.npz (natural)", "mine.npz"}
    assert {record["method"] for record in records} == {"fedprox", "fedprox:mu=0.5"}
    assert len(list(Path("out/cells").iterdir())) == 6


def test_tuned_values_are_printed_and_stored(cli: Cli) -> None:
    answer = cli("compare", "--methods", "fedavg", "--partition", "iid", *TINY, *DATA, "--tune", "--tune-rounds", "1")
    assert answer.code == 0, answer.err
    assert "Tuned on validation rows" in answer.out
    (tuned,) = json.loads(Path("out/comparison.json").read_text())["tuned"]
    assert tuned["tried"] == 9
    assert "tuning 9/9" in answer.err


@pytest.mark.parametrize("varied", ["influence", "kappa", "threshold"])
def test_ablations(cli: Cli, varied: str) -> None:
    answer = cli("ablate", varied, "--dataset", "synthetic", *TINY, *DATA, "--format", "json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["varied"] == varied
    assert Path(f"out/ablation-{varied}.png").read_bytes().startswith(PNG)
    assert "paper" in Path(f"out/ablation-{varied}.md").read_text()


@pytest.mark.parametrize("figure", ["trajectories", "weak-clients"])
def test_figures(cli: Cli, figure: str) -> None:
    answer = cli("figures", figure, *TINY, *DATA)
    assert answer.code == 0, answer.err
    for suffix in ("md", "csv", "json"):
        assert Path(f"out/{figure}.{suffix}").stat().st_size
    assert Path(f"out/{figure}.png").read_bytes().startswith(PNG)


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
    "clients": (("compare", "--clients", "5000"), "Ask for at most 1000 clients"),
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
    assert "patients.csv: patients.csv, 90 rows; 3 clients, natural partition" in json.loads(answer.out)["setting"]


def test_the_groups_of_an_npz_are_the_sites_unless_others_are_asked_for(cli: Cli) -> None:
    rng = np.random.default_rng(0)
    np.savez("mine.npz", X=rng.normal(size=(90, 4)), y=np.arange(90) % 3, group=np.repeat(np.arange(3), 30))
    answer = cli("compare", "--dataset", "mine.npz,mine.npz@iid", "--methods", "local", *SHORT, "--format", "json")
    assert answer.code == 2  # 20 sites are too many for 90 rows, and are invented only where somebody asks for it
    assert "Ask for at most 9 clients" in answer.err
    answer = cli("compare", "--dataset", "mine.npz", "--methods", "local", *SHORT, "--format", "json")
    assert "mine.npz: mine.npz, 90 rows; 3 clients, natural partition" in json.loads(answer.out)["setting"]


def test_kappa_invents_sites_and_says_so(cli: Cli, hospitals: Path) -> None:
    command = ("ablate", "kappa", "--dataset", str(hospitals), *COLUMNS, *SHORT, "--clients", "2", "--format", "json")
    assert "2 clients, dirichlet partition" in cli(*command).out
    refused = cli(*command, "--partition", "natural")
    assert refused.code == 2
    assert "Leave --partition out" in refused.err


def test_the_paper_s_eight_are_divided_as_in_the_paper() -> None:
    """HAR and AccGyro have people of their own; 100 sites cannot be made of 30 people."""
    assert {task.changes["partition"] for task in tasks_of("all", None)} == {"dirichlet"}
    assert {task.changes["partition"] for task in tasks_of("all", "iid")} == {"iid"}
    assert [task.changes for task in tasks_of("har", None)] == [{}]


def test_robustness_reads_a_csv(cli: Cli, hospitals: Path) -> None:
    answer = cli("robustness", "--dataset", str(hospitals), *COLUMNS, "--methods", "fedavg", "--rounds", "1",
                 "--seeds", "1", "--format", "json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "1 of 3 sites hostile" in answer.err
