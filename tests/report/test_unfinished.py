"""A run is followed while it goes on, and shows after every round what its summary would say."""

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.events import RoundBegun, RoundClosed
from secure_sapefl.engine.simulator import resume, simulate
from secure_sapefl.report.run import load_run
from secure_sapefl.report.unfinished import follow

SMALL = {"clients": 3, "rounds": 2, "rows": 120, "local_epochs": 1, "workers": 0, "protection": "plaintext"}


class Follower:
    """Looks at a run whenever a round is closed."""

    def __init__(self):
        self.progress, self.seen = None, []

    def __call__(self, event):
        self.progress = follow(self.progress, event)
        if isinstance(event, RoundClosed):
            self.seen.append(self.progress.run("run"))


def followed_run(folder, **changes):
    follower = Follower()
    simulate(Config(**SMALL, **changes), folder, observers=[follower])
    return follower


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return followed_run(folder), folder


def test_after_the_last_round_it_is_the_finished_run(followed):
    follower, folder = followed
    finished = load_run(folder)
    for last in (follower.seen[-1], follower.progress.run("run")):
        assert last.summary == finished.summary
        assert [record.to_json() for record in last.rounds] == [record.to_json() for record in finished.rounds]
        assert last.config == finished.config
    assert follower.progress.over


def test_on_the_way_it_is_a_run_of_fewer_rounds(followed):
    first, last = followed[0].seen
    assert [len(first.rounds), len(last.rounds)] == [1, 2]
    assert first.rounds == last.rounds[:1]
    assert first.summary["seconds"]["total"] < last.summary["seconds"]["total"]
    assert first.similarity.shape == (3, 3)


def test_a_run_that_is_resumed_is_followed_from_where_it_stood(followed):
    again = Follower()
    resume(followed[1], observers=[again])
    assert again.seen == [], "no round was left"
    assert again.progress.run("run").summary == load_run(followed[1]).summary


def test_before_the_first_evaluation_there_is_nothing(tmp_path):
    seen = followed_run(tmp_path / "run", evaluate_every=2).seen
    assert seen[0] is None
    assert len(seen[1].rounds) == 2
    assert follow(None, RoundBegun(round_index=0, sites=())) is None


def test_the_budget_is_counted_on_the_way(tmp_path):
    private = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8, "participation": 1.0}
    first, last = followed_run(tmp_path / "run", **private).seen
    assert 0 < first.summary["privacy"]["epsilon_max"] < last.summary["privacy"]["epsilon_max"]
    assert last.summary["privacy"] == load_run(tmp_path / "run").summary["privacy"]


def test_ledgers_in_files_are_left_to_the_run(tmp_path):
    private = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8, "dp_ledgers": tmp_path / "ledgers"}
    first, _ = followed_run(tmp_path / "run", **private).seen
    assert first.epsilons == ()
    assert first.summary["privacy"]["epsilon_budget"] == 8.0
