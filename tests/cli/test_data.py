"""`secure-sapefl data`, as a user meets it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput, OutputFailed, UnknownName

runner = CliRunner()


@pytest.fixture(autouse=True)
def nothing_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("SAPEFL_DATA", raising=False)
    monkeypatch.setenv("SAPEFL_CACHE", str(tmp_path / "cache"))


def run(*arguments):
    return runner.invoke(app, ["data", *map(str, arguments)])


def failure(*arguments):
    result = run(*arguments)
    assert result.exception is not None
    return result.exception


def test_list_names_every_dataset_with_licence_and_fetch_command():
    entries = {entry["name"]: entry for entry in json.loads(run("list", "--format", "json").stdout)}
    assert len(entries) == 11
    assert entries["synthetic"]["here"] == "generated"
    assert entries["heart"]["licence"].startswith("CC BY 4.0")
    assert entries["heart"]["here"] == "heart_disease_4hospitals.npz (920 rows, comes with the package)"
    assert entries["har"]["here"] == "no; secure-sapefl data fetch har"


def test_list_says_which_file_serves_a_dataset_and_which_is_damaged(tmp_path):
    np.savez(tmp_path / "mnist_small.npz", y=np.zeros(1234, np.uint8))
    (tmp_path / "cifar10.npz").write_bytes(b"PK nonsense")
    listed = json.loads(run("list", "--data-dir", tmp_path, "--format", "json").stdout)
    entries = {entry["name"]: entry["here"] for entry in listed}
    assert entries["mnist"] == "mnist_small.npz (1,234 rows)"
    assert entries["cifar10"].startswith("unreadable: cifar10.npz")


def test_list_prints_a_table():
    result = run("list")
    assert result.exit_code == 0
    assert "synthetic" in result.stdout


def test_check_prints_clients_and_draws_them(tmp_path):
    picture = tmp_path / "partition.png"
    result = run("check", "synthetic", "--clients", 6, "--seed", 3, "--out", picture)
    assert result.exit_code == 0
    assert "client-5" in result.stdout
    assert "6 sites, 10 classes, shape (20,)" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_check_as_json_is_one_clean_document():
    result = run("check", "synthetic", "--clients", 6, "--option", "rows=600", "--format", "json")
    summary = json.loads(result.stdout)
    assert sum(client["train"] + client["test"] for client in summary["clients"]) == 600
    assert [sum(client["per_class"]) for client in summary["clients"]] == [
        client["train"] + client["test"] for client in summary["clients"]
    ]


def test_check_reads_a_csv_and_tells_of_undefined_auc(tmp_path):
    rows = [f"{i},{'a' if i < 30 else 'b'},{int(i >= 30 and i % 2)}" for i in range(60)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["age,hospital,outcome", *rows]))
    result = run("check", path, "--label", "outcome", "--group", "hospital")
    assert "natural partition, 2 sites" in result.stdout
    assert "1 sites have a single class among their test rows: their AUC is undefined" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["check", "hart"], UnknownName, "Did you mean 'heart'"),
        (["check", "synthetic", "--kappa", "0"], BadInput, "kappa = 0.0 is not possible"),
        (["check", "synthetic", "--clients", "5000"], BadInput, "at most 1000 sites"),
        (["check", "synthetic", "--option", "rows"], BadInput, "KEY=VALUE"),
        (["check", "nowhere.npz"], BadInput, "no file nowhere.npz"),
        (["check", "synthetic", "--out", "/nowhere/at/all.png"], OutputFailed, "Cannot write to"),
        (["fetch", "mnits"], UnknownName, "Did you mean 'mnist'"),
        (["fetch", "synthetic"], BadInput, "generated"),
    ],
)
def test_mistakes_are_sentences_with_exit_code_two(arguments, kind, message):
    error = failure(*arguments)
    assert isinstance(error, kind)
    assert message in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize("command", ["list", "check", "fetch"])
def test_help_has_an_example(command):
    assert "secure-sapefl data" in run(command, "--help").stdout
