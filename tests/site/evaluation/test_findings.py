"""What a site knows after a deployed study: the numbers its agent wrote down, and a verdict about three models."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secure_sapefl.site.evaluation import findings as room
from tests.site.evaluation.made_up import found


def test_a_gain_beyond_chance_is_said_as_one() -> None:
    assert found().verdict.startswith("Your own model is ")
    assert found().verdict.endswith("taking part pays here, use your own model.")
    auc = found().models["own"].auc
    assert (auc.value, auc.low, auc.high) == (1, 1, 1)


def test_of_three_classes_there_is_an_auc_without_an_interval() -> None:
    several = found(classes=3)
    assert np.isnan(several.models["own"].auc.value)
    assert several.models["own"].found["auc"] == 1
    assert several.to_json()["models"]["own"]["auc"]["value"] is None


@pytest.mark.parametrize("method", ["fedavg", "ditto"])
def test_after_a_deployed_study_they_are_what_its_agent_wrote_down(
    world: Callable[..., Any], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    deployed = world(rounds=2, method=method)
    deployed.start_all()
    deployed.run()
    agent = deployed.agents["north"]
    folder = deployed.folder / "north"
    loaded = SimpleNamespace(prepared=lambda _: deployed.rows["north"], test=np.arange(12))
    monkeypatch.setattr(room, "load_rows", lambda *_: loaded)
    monkeypatch.setattr(room, "trained_state", lambda *_: agent.state)
    home = SimpleNamespace(
        name="north", data_path=None, study_folder=lambda _: folder, policy=lambda: SimpleNamespace(judge_by=())
    )
    seen = room.findings(home, deployed.terms)  # type: ignore[arg-type]
    assert seen.now == seen.history[-1] == agent.judged
    assert seen.rounds == 2
    assert len(seen.y) == 12
