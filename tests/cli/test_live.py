"""`--live` says where to look, serves while rounds are made, and is gone when the command ends."""

import json
import re
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from secure_sapefl.cli.app import main
from secure_sapefl.engine.observers import news

RUN = [
    "--clients", "3", "--rounds", "2", "--local-epochs", "1", "--kappa", "5", "--data-option", "rows=240",
    "--protection", "plaintext", "--out", "run",
]  # fmt: skip


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Runs a command without drawing the final report, and asks the live server after every round."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    monkeypatch.setattr("secure_sapefl.report.live._WATCHED_SECONDS", 0.0)
    said, answers, told = [], [], news.news_of  # called once a round: a moment at which the page is open

    def ask(record):
        said.append(capsys.readouterr().err)
        with urlopen(address("".join(said)) + "revision") as answer:
            answers.append(answer.read().decode())
        return told(record)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *arguments])
        if "--live" in arguments:
            monkeypatch.setattr(news, "news_of", ask)
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        assert not exit_.value.code, captured.err
        return captured.out, "".join(said) + captured.err, answers

    return call


def address(text):
    return re.search(r"^Live: (http://127\.0\.0\.1:\d+/) ", text, re.MULTILINE).group(1)


def test_the_page_is_there_while_the_run_goes_on_and_gone_after(cli):
    out, err, revisions = cli("simulate", *RUN, "--live", "--format", "json")
    assert json.loads(out)["rounds"] == 2
    assert len(set(revisions)) == 2
    with pytest.raises(URLError):
        urlopen(address(err))


def test_a_resumed_run_can_be_watched_too(cli, tmp_path):
    cli("simulate", *RUN)
    (tmp_path / "run" / "summary.json").unlink()
    out, err, revisions = cli("simulate", "--resume", "run", "--live", "--format", "json")
    assert json.loads(out)["rounds"] == 2
    assert address(err)
    assert revisions == []


def test_without_it_nothing_is_served(cli):
    assert "Live:" not in cli("simulate", *RUN)[1]
