"""A server that hands out another sum than it claims: sites keep their model, the run goes on, the summary says so."""

from dataclasses import replace

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine import protection
from secure_sapefl.engine.events import AggregateOpened, RunEvent, TrainingEnded
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.protocol.messages import RoundOutcome
from secure_sapefl.protocol.server import Server


class LyingServer(Server):
    """In round 1 it hands back the aggregate of round 0."""

    _first: bytes | None = None

    def close_round(self) -> RoundOutcome:
        outcome = super().close_round()
        if outcome.round_index == 0:
            self._first = outcome.aggregate
        return replace(outcome, aggregate=self._first) if outcome.round_index == 1 else outcome


def test_a_replayed_sum_changes_nothing_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protection, "Server", LyingServer)
    config = Config(method="fedavg", clients=3, rounds=3, local_epochs=1, workers=0, rows=200)
    opened, ended = [], []

    def watch(event: RunEvent) -> None:
        opened.extend([event] if isinstance(event, AggregateOpened) else [])
        ended.extend([event.theta_global] if isinstance(event, TrainingEnded) else [])

    result = simulate(config, observers=[watch])
    assert result.skipped_rounds == [1]
    assert [event.round_index for event in opened] == [0, 2], "a sum that is rejected is not opened"
    assert not opened[1].theta_global.equal(opened[0].theta_global)
    assert opened[1].theta_global.equal(*ended)
    (refused,) = result.summary()["refused"]
    assert (refused["round"], refused["site"]) == (1, "server")
    assert "rejected by the sites" in refused["reason"]
