"""What a site knows after a deployed study: the numbers its agent wrote down, and a verdict about three models."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secure_sapefl.site.evaluation import findings as room
from tests.deployed_study import with_numbers
from tests.site.evaluation.made_up import found, found_labels, found_numbers


def test_a_gain_beyond_chance_is_said_as_one() -> None:
    assert found().verdict.startswith("Your own model is ")
    assert found().verdict.endswith("taking part pays here, use your own model.")
    auc = found().models["own"].sure["auc"]
    assert (auc.value, auc.low, auc.high) == (1, 1, 1)


def test_of_three_classes_there_is_an_auc_without_an_interval() -> None:
    several = found(classes=3)
    assert np.isnan(several.models["own"].sure["auc"].value)
    assert several.models["own"].found["auc"] == 1
    assert several.to_json()["models"]["own"]["auc"]["value"] is None


def test_without_classes_the_verdict_is_by_the_tasks_own_metric() -> None:
    numbers, labels = found_numbers(), found_labels()
    assert " better in MAE than alone and " in numbers.verdict
    assert numbers.verdict.endswith("intervals apart from training alone: taking part pays here, use your own model.")
    assert numbers.to_json()["models"]["own"]["mae"]["value"] == pytest.approx(1)
    assert " points better than alone and " in labels.verdict


@pytest.mark.parametrize("method", ["fedavg", "ditto", "numbers"])
def test_after_a_deployed_study_they_are_what_its_agent_wrote_down(
    world: Callable[..., Any], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    if method == "numbers":
        features = [{"name": f"x{i}", "low": -5, "high": 5} for i in range(4)]
        schema = {"label": "y", "target": {"low": -5, "high": 5}, "features": features}
        deployed = world(rounds=2, method="fedavg", data=schema)
        deployed.rows = {name: with_numbers(rows) for name, rows in deployed.rows.items()}
    else:
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
