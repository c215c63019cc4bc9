"""A run is read while it is written, and shows after every round what its summary would say."""

import json

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.simulator import federation_of, simulate
from secure_sapefl.report.run import load_run
from secure_sapefl.report.unfinished import facts_of, load_unfinished

SMALL = {"clients": 3, "rounds": 2, "rows": 120, "local_epochs": 1, "workers": 0, "protection": "plaintext"}


def follow(folder, **changes):
    """Run a simulation and look at it after every round."""
    config = Config(**SMALL, **changes)
    federation = federation_of(config)
    facts, seen = facts_of(config, federation), []
    simulate(config, folder, lambda _: seen.append(load_unfinished(folder, facts)), federation)
    return seen, facts


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return *follow(folder), folder


def test_after_the_last_round_it_is_the_finished_run(followed):
    (_, last), _, folder = followed
    finished = load_run(folder)
    assert last.summary == finished.summary
    assert last.rounds == finished.rounds
    assert last.config == finished.config


def test_on_the_way_it_is_a_run_of_fewer_rounds(followed):
    (first, last), _, _ = followed
    assert [len(first.rounds), len(last.rounds)] == [1, 2]
    assert first.rounds == last.rounds[:1]
    assert first.summary["seconds"]["total"] < last.summary["seconds"]["total"]
    assert first.similarity.shape == (3, 3)


def test_a_line_that_is_being_written_is_not_read(followed, tmp_path):
    (_, last), facts, folder = followed
    lines = (folder / "rounds.jsonl").read_text()
    (tmp_path / "config.toml").write_text((folder / "config.toml").read_text())
    (tmp_path / "rounds.jsonl").write_text(lines + json.dumps(last.rounds[-1].to_json())[:40])
    assert len(load_unfinished(tmp_path, facts).rounds) == 2


def test_before_the_first_evaluation_there_is_nothing(tmp_path):
    seen, facts = follow(tmp_path / "run", evaluate_every=2)
    assert seen[0] is None
    assert len(seen[1].rounds) == 2
    assert load_unfinished(tmp_path / "nowhere", facts) is None


def test_the_budget_is_counted_on_the_way(tmp_path):
    private = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8, "participation": 1.0}
    (first, last), _ = follow(tmp_path / "run", **private)
    assert 0 < first.summary["privacy"]["epsilon_max"] < last.summary["privacy"]["epsilon_max"]
    assert last.summary["privacy"] == load_run(tmp_path / "run").summary["privacy"]


def test_ledgers_in_files_are_left_to_the_run(tmp_path):
    private = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8, "dp_ledgers": tmp_path / "ledgers"}
    (first, _), _ = follow(tmp_path / "run", **private)
    assert first.epsilons == ()
    assert first.summary["privacy"]["epsilon_budget"] == 8.0
