"""`secure-sapefl report`, as a user meets it after `simulate`."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["report", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A real run, as small as can be."""
    out = tmp_path_factory.mktemp("runs") / "small"
    small = "--clients 3 --rounds 1 --local-epochs 1 --protection plaintext --quiet --data-option rows=300"
    result = runner.invoke(app, ["simulate", *small.split(), "--out", str(out)])
    assert result.exit_code == 0, result.exception
    return out


@pytest.fixture
def plain_page(monkeypatch):
    """Where only the file counts, its content need not be drawn."""
    monkeypatch.setattr("secure_sapefl.report.run_report.render_page", lambda runs: f"page of {len(runs)}")


def test_simulate_leaves_a_report(folder):
    assert "SAPE-FL on synthetic" in (folder / "report.html").read_text()
    assert (folder / "plots" / "similarity.png").is_file()


@pytest.mark.usefixtures("plain_page")
def test_one_run_is_written_into_its_folder(folder):
    result = run(folder)
    assert result.exit_code == 0
    assert result.stdout.replace("\n", "") == f"Report: {folder / 'report.html'}"
    assert (folder / "report.html").read_text() == "page of 1"


@pytest.mark.usefixtures("plain_page")
def test_several_runs_go_to_one_page_here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(folder, folder).exit_code == 0
    assert (tmp_path / "report.html").read_text() == "page of 2"


@pytest.mark.usefixtures("plain_page")
def test_out_says_where_and_leaves_the_folder_alone(folder, tmp_path):
    before = (folder / "report.html").read_bytes()
    assert run(folder, "--out", tmp_path / "page.html").exit_code == 0
    assert (tmp_path / "page.html").read_text() == "page of 1"
    assert (folder / "report.html").read_bytes() == before


def test_a_folder_without_a_run_is_bad_input(tmp_path):
    result = run(tmp_path)
    assert isinstance(result.exception, BadInput)
    assert "not a finished run" in str(result.exception)


def test_no_run_is_bad_usage():
    assert run().exit_code == 2


def test_the_command_exits_with_2_and_a_sentence(cli):
    done = cli("report", "nowhere")
    assert done.code == 2
    assert done.err.startswith("secure-sapefl: ")
    assert "Traceback" not in done.err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from secure_sapefl.cli import report; "
        "print([m for m in ('matplotlib', 'jinja2', 'torch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_card_beside_the_run_or_elsewhere(folder, tmp_path):
    assert run(folder, "--model-card").exit_code == 0
    assert (folder / "model-card.md").read_text().startswith("# Model card: SAPE-FL on synthetic\n")
    assert run(folder, "--model-card", "--out", tmp_path / "new" / "card.md").exit_code == 0
    assert (tmp_path / "new" / "card.md").is_file()


def test_a_model_card_is_about_one_run(folder):
    result = run(folder, folder, "--model-card")
    assert isinstance(result.exception, BadInput)
    assert "about one run; 2 were given" in str(result.exception)
