"""`compare` from the outside: clean output, files, what is tuned."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from secure_sapefl.cli.compare import tasks_of

DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
TINY = ("--clients", "2", "--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--out", "out")
COMPARE = ("compare", "--methods", "local,fedavg", "--partition", "iid", *TINY)
SHORT = ("--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--participation", "1", "--out", "out")
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
    assert "tuning at 25% of the rounds 9/9" in answer.err


def test_the_groups_of_an_npz_are_the_sites_unless_others_are_asked_for(cli: Cli) -> None:
    rng = np.random.default_rng(0)
    np.savez("mine.npz", X=rng.normal(size=(90, 4)), y=np.arange(90) % 3, group=np.repeat(np.arange(3), 30))
    answer = cli("compare", "--dataset", "mine.npz,mine.npz@iid", "--methods", "local", *SHORT, "--format", "json")
    assert answer.code == 2  # 20 sites are too many for 90 rows, and are invented only where somebody asks for it
    assert "Ask for at most 9 sites" in answer.err
    answer = cli("compare", "--dataset", "mine.npz", "--methods", "local", *SHORT, "--format", "json")
    assert "mine.npz: mine.npz, 90 rows; 3 sites, natural partition" in json.loads(answer.out)["setting"]


def test_the_paper_s_eight_are_divided_as_in_the_paper() -> None:
    """HAR and AccGyro have people of their own; 100 sites cannot be made of 30 people."""
    assert {task.changes["partition"] for task in tasks_of("all", None)} == {"dirichlet"}
    assert {task.changes["partition"] for task in tasks_of("all", "iid")} == {"iid"}
    assert [task.changes for task in tasks_of("har", None)] == [{}]


def test_validation_rows_are_judged_and_said_to_be(cli: Cli) -> None:
    documents = []
    for more in ((), ("--validation",)):
        answer = cli("compare", "--methods", "local", "--partition", "iid", *TINY, *DATA, *more, "--format", "json")
        assert answer.code == 0, answer.err
        documents.append(json.loads(answer.out))
    test, validation = documents
    assert validation["records"] != test["records"]
    assert any("test rows were not looked at" in line for line in validation["setting"])
    assert not any("not looked at" in line for line in test["setting"])
