"""Only a whole, finished run is read; anything else is answered in a sentence."""

import json

import numpy as np
import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.report.page import render_page
from secure_sapefl.report.run import load_run, printable


def edit(folder, change):
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    change(summary)
    file.write_text(json.dumps(summary))


def test_a_finished_run_is_read(make_folder):
    run = load_run(make_folder("mine"))
    assert (run.label, run.sites, len(run.rounds)) == ("mine", ("Anna", "Bert", "Cleo"), 2)
    assert run.last.personal.accuracy.per_client == (0.9, 0.6, 0.3)
    assert np.isnan(run.similarity.diagonal()).all()
    assert run.rows is None


def test_rows_are_known_where_the_summary_says(make_run):
    assert make_run(client_rows=[5, 6, 7]).rows == (5, 6, 7)


@pytest.mark.parametrize(("method", "silent", "differs"), [("local", True, False), ("sapefl", False, True)])
def test_a_method_that_sends_nothing_has_no_global_model(make_run, method, silent, differs):
    run = make_run(method=method)
    assert (run.silent, run.personal_differs) == (silent, differs)


def test_sites_that_use_the_global_model_do_not_differ_from_it(make_run):
    assert not make_run(method="fedavg", everywhere=(0.9, 0.6, 0.3)).personal_differs


def test_rounds_without_an_evaluation_are_skipped_over(make_run):
    run = make_run(rounds=4, evaluate_every=2)
    assert len(run.rounds) == 4
    assert [record.round_index for record in run.evaluated] == [1, 3]
    assert run.last.round_index == 3


def test_a_run_that_was_never_evaluated_is_not_whole(make_folder):
    with pytest.raises(BadInput, match="one number for each of the 3 sites"):
        load_run(make_folder(rounds=1, evaluate_every=2))


def test_no_folder(tmp_path):
    with pytest.raises(BadInput, match="is not a folder"):
        load_run(tmp_path / "nowhere")


def test_an_unfinished_run(make_folder):
    folder = make_folder()
    (folder / "summary.json").unlink()
    with pytest.raises(BadInput, match="not a finished run"):
        load_run(folder)


@pytest.mark.parametrize("file", ["config.toml", "rounds.jsonl"])
def test_a_lost_file(make_folder, file):
    folder = make_folder()
    (folder / file).unlink()
    with pytest.raises(BadInput, match=r"No such file|Cannot read"):
        load_run(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00", '{"method": "sapefl"}'])
def test_a_damaged_summary(make_folder, content):
    folder = make_folder()
    (folder / "summary.json").write_text(content)
    with pytest.raises(BadInput, match="is not a whole run"):
        load_run(folder)


@pytest.mark.parametrize("line", ["{}", "[1]", "{", '"text"'])
def test_a_damaged_round(make_folder, line):
    folder = make_folder()
    (folder / "rounds.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(BadInput, match="is not a whole run"):
        load_run(folder)


def test_a_lost_round(make_folder):
    folder = make_folder()
    first = (folder / "rounds.jsonl").read_text().splitlines()[0]
    (folder / "rounds.jsonl").write_text(first + "\n")
    with pytest.raises(BadInput, match=r"has 1 rounds, summary\.json 2"):
        load_run(folder)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("client_names", ["Anna"], "one number for each of the 1 sites"),
        ("client_names", [], "one number for each of the 0 sites"),
        ("similarity_matrix", [[1.0]], "not 3 × 3"),
        ("similarity_matrix", [[1.0], [1.0, 2.0]], "is not a whole run"),
        ("client_rows", [1], "rows of 1 sites"),
        ("protection", "rot13", "protection 'rot13'"),
    ],
)
def test_parts_that_do_not_fit(make_folder, key, value, message):
    folder = make_folder()
    edit(folder, lambda summary: summary.update({key: value}))
    with pytest.raises(BadInput, match=message):
        load_run(folder)


def test_a_method_nobody_knows(make_folder):
    folder = make_folder()
    edit(folder, lambda summary: summary.update(method="sapefx"))
    with pytest.raises(BadInput, match="Did you mean 'sapefl'"):
        load_run(folder)


def test_characters_no_page_may_hold_are_replaced():
    assert printable("a\x00b\ud800c\nd") == "a�b�c�d"
    assert printable("Köln 北京") == "Köln 北京"


def test_a_table_of_the_patients_is_shown_where_the_folder_has_one(make_folder):
    folder = make_folder()
    assert load_run(folder).table is None
    fields = {"groups": ["all"], "lines": [{"column": "Größe", "says": "mean", "values": {"all": 1.75}}]}
    document = fields | {"smallest_cell": 5, "notes": ["Sums over 4 sites."]}
    (folder / "table-1.json").write_text(json.dumps(document), encoding="utf-8")
    table = load_run(folder).table
    assert table["lines"] == [("Größe", "mean", "1.75")]
    page = render_page([load_run(folder)])
    assert "Who the patients are" in page
    assert "Sums over 4 sites." in page
