"""From a file to a schema, to the sites' files, to what does not fit."""

import json
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.cli.app import main
from secure_sapefl.data.tables.schema import load_table_schema


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(20, 90)},5;{'mw'[k % 2]};{['Köln', 'Łódź'][k % 2]};{['nein', 'ja'][rng.integers(2)]}"
        for k in range(40)
    ]
    path = tmp_path / "klinik.csv"
    path.write_text("\n".join(["Alter;Geschlecht;Klinik;krank", *lines]) + "\n", encoding="utf-8")
    return path


def run(*words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["secure-sapefl", *words])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def test_schema_split_check_and_rehearsal(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("data", "schema", "klinik.csv", "--label", "krank", monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert "divided by semicolons, UTF-8, 40 rows" in out
    schema = load_table_schema(Path("schema.toml"))
    assert (schema.site, schema.names, schema.classes) == ("Klinik", ("Alter", "Geschlecht"), ("nein", "ja"))
    assert run("data", "split", "klinik.csv", "--schema", "schema.toml", "--out", "sites", monkeypatch=monkeypatch) == 0
    assert run("site", "check-data", "schema.toml", "--data", "sites/Köln.csv", monkeypatch=monkeypatch) == 0
    assert "look at it: Column 'Geschlecht'" not in capsys.readouterr().out
    words = (
        "simulate",
        "--dataset",
        "klinik.csv",
        "--data-schema",
        "schema.toml",
        "--rounds",
        "1",
        "--local-epochs",
        "1",
    )
    extra = ("--protection", "plaintext", "--out", "run", "--format", "json", "--method", "fedavg")
    assert run(*words, *extra, monkeypatch=monkeypatch) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["client_names"] == ["Köln", "Łódź"]
    how = "one fill and scale for all sites, agreed by sums over 2 of them; categories as columns of 0 and 1"
    assert summary["preparation"] == how


def test_a_file_that_does_not_fit_ends_in_exit_code_two(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("data", "schema", "klinik.csv", "--label", "krank", monkeypatch=monkeypatch)
    table.write_text(table.read_text(encoding="utf-8").replace("m;", "M;"), encoding="utf-8")
    capsys.readouterr()
    words = ("site", "check-data", "schema.toml", "--data", "klinik.csv")
    assert run(*words, monkeypatch=monkeypatch) == 2
    said = capsys.readouterr().out
    assert "does not fit: Column 'Geschlecht': 20 values of 40" in said
    assert "look at it: Column 'Klinik': records of 2 sites" in said
    assert said.endswith("Correct the file, or ask whoever wrote the schema for one that allows this.\n")
    assert run(*words, "--format", "json", monkeypatch=monkeypatch) == 2
    assert json.loads(capsys.readouterr().out)["mismatches"][0]["blocks"] is True


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["data", "schema", "klinik.csv"], "which column is the label"),
        (["data", "schema", "klinik.csv", "--label", "krank", "--out", "klinik.csv"], "a person may have corrected it"),
        (["data", "schema", "absent.csv", "--label", "krank"], "There is no file"),
    ],
)
def test_mistakes(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run(*words, monkeypatch=monkeypatch) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_no_schema_is_left_behind_where_the_file_is_refused(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(";Köln;", ";;", 1), encoding="utf-8")
    assert run("data", "schema", "klinik.csv", "--label", "krank", monkeypatch=monkeypatch) == 2
    assert "column 'Klinik', line 2: the value is missing" in capsys.readouterr().err
    assert not Path("schema.toml").exists()


def test_what_ruins_a_study_is_listed_and_stops_a_run_until_it_is_waved_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{k},{rng.normal():.3f},{rng.integers(2)}" for k in range(60)]
    Path("cases.csv").write_text("\n".join(["case,x,y", *lines]) + "\n")
    words = ("simulate", "--dataset", "cases.csv", "--label", "y", "--clients", "2", "--partition", "iid")
    quick = ("--rounds", "1", "--local-epochs", "1", "--protection", "plaintext", "--method", "fedavg", "--out", "run")
    assert run("data", "check", "cases.csv", "--label", "y", "--clients", "2", monkeypatch=monkeypatch) == 0
    assert "Column 'case': a different whole number in every record" in " ".join(capsys.readouterr().out.split())
    assert run("data", "schema", "cases.csv", "--label", "y", monkeypatch=monkeypatch) == 0
    assert "Column 'case': a different whole number in every record" in " ".join(capsys.readouterr().out.split())
    assert run(*words, *quick, monkeypatch=monkeypatch) == 2
    assert "--accept 'identifier:case'" in " ".join(capsys.readouterr().err.split())
    assert run(*words, *quick, "--accept", "identifier:case", monkeypatch=monkeypatch) == 0


def test_a_column_that_may_name_the_sites_is_not_passed_over(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words, told = ("data", "check", "klinik.csv", "--label", "krank"), "Column 'Klinik': may name the sites"
    assert run(*words, "--clients", "2", monkeypatch=monkeypatch) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    assert run(*words, "--group", "Klinik", monkeypatch=monkeypatch) == 0
    assert told not in " ".join(capsys.readouterr().out.split())


def test_a_picture_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "labels.csv").write_text("file,ill\nbad.png,no\n")
    (tmp_path / "schema.toml").write_text(
        'kind = "images"\nheight = 4\nwidth = 4\nclasses = ["no", "yes"]\nlabel = "ill"\n'
    )
    assert run("site", "check-data", "schema.toml", "--data", ".", monkeypatch=monkeypatch) == 2
    said = capsys.readouterr().out
    assert "bad.png cannot be read as an image" in said
    assert ".." not in said
