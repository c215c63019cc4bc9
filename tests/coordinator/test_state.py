"""What the server keeps on disk: one study, one process, every outcome, and no model for longer than it is needed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.coordinator.progress import ClosedRound
from secure_sapefl.coordinator.state import SealedModels, ServerState, is_held, read_status
from secure_sapefl.errors import BadInput, Busy
from secure_sapefl.protocol.messages import Refusal, RoundOutcome, SealedModel

World = Callable[..., Any]
OUTCOME = RoundOutcome(round_index=0, aggregate=b"sum", weights=(("a", 3),), refusals=(Refusal("b", "late"),))
HOW = ClosedRound(sent=1, seconds=2.5, left_out=OUTCOME.refusals)


def model(site: str, made: int) -> SealedModel:
    return SealedModel(sender=site, round_index=made, blob=f"{site}{made}".encode())


def test_a_closed_round_is_there_after_a_restart(tmp_path: Path) -> None:
    with ServerState(tmp_path / "s", "d" * 64) as state:
        state.close_round(OUTCOME, HOW)
    with ServerState(tmp_path / "s", "d" * 64) as state:
        assert state.closed == 1
        assert state.outcome(0) == OUTCOME
        assert state.history == [{"sent": 1, "seconds": 2.5, "left_out": [{"site": "b", "reason": "late"}]}]


def test_what_an_open_round_left_is_gone_after_a_crash(tmp_path: Path) -> None:
    with ServerState(tmp_path / "s", "d" * 64) as state:
        state.new_models(0)["a"] = model("a", 0)
        assert (tmp_path / "s" / "rounds" / "00000" / "a").exists()
        assert dict(state.new_models(0)) == {}
        assert not (tmp_path / "s" / "rounds" / "00000" / "a").exists()
        assert dict(state.models) == {}


def test_sealed_models_are_read_from_disk_one_by_one(tmp_path: Path) -> None:
    models = SealedModels(tmp_path)
    models["a"], models["b"] = model("a", 0), model("b", 2)
    assert (models["a"], models["b"], len(models), set(models)) == (model("a", 0), model("b", 2), 2, {"a", "b"})
    assert SealedModels(tmp_path, {"b": 2})["b"].blob == b"b2"
    del models["a"]
    assert "a" not in models
    assert not models.path("a", 0).exists()


def test_a_folder_without_a_study_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="server start"):
        read_status(tmp_path)
    with ServerState(tmp_path / "s", "d" * 64) as state:
        state.publish({"closed": 0})
        assert read_status(tmp_path / "s") == {"closed": 0, "running": True}
    assert read_status(tmp_path / "s")["running"] is False
    assert json.loads((tmp_path / "s" / "status.json").read_bytes()) == {"closed": 0}


def test_state_belongs_to_one_study_and_one_process(world: World) -> None:
    deployed = world()
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    with pytest.raises(Busy, match="held by process"):
        ServerState(deployed.folder / "server", deployed.file.digest)
    assert is_held(deployed.folder / "server")
    deployed.state.__exit__()
    assert not is_held(deployed.folder / "server")
    with pytest.raises(BadInput, match="changed study"):
        ServerState(deployed.folder / "server", "f" * 64)


def test_old_models_are_removed_and_the_current_ones_kept(world: World) -> None:
    deployed = world(rounds=3)
    deployed.start_all()
    deployed.run()
    kept = sorted(p.parent.name for p in (deployed.folder / "server" / "rounds").glob("*/*") if p.name != "outcome")
    assert kept == ["00002"] * 4
