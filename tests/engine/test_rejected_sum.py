"""A server that hands out another sum than it claims: sites keep their model, the run goes on, the summary says so."""

from dataclasses import replace

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine import simulator
from secure_sapefl.engine.simulator import Simulation
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
    monkeypatch.setattr(simulator, "Server", LyingServer)
    config = Config(method="fedavg", clients=3, rounds=3, local_epochs=1, workers=0, rows=200)
    simulation, models = Simulation(config), []
    result = simulation.run(on_round=lambda _: models.append(simulation._theta_global.clone()))
    assert result.skipped_rounds == [1]
    assert models[1].equal(models[0])
    assert not models[2].equal(models[1])
    (refused,) = result.summary()["refused"]
    assert (refused["round"], refused["site"]) == (1, "server")
    assert "rejected by the sites" in refused["reason"]
