"""How good a model is, written down: known answers, groups, and a file that a crash does not confuse."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.site.evaluation import judged
from secure_sapefl.site.evaluation.judged import Judged, judge
from secure_sapefl.site.evaluation.subgroups import Subgroup
from secure_sapefl.site.state import judged_path

Y = np.array([0, 0, 1, 1])
OWN = np.array([[2, 0], [2, 0], [0, 2], [2, 0]], np.float32)  # the last one is wrong
FIRST = Subgroup("first", np.array([True, True, False, False]))


def found(index: int = 0, **fields: Any) -> Judged:
    return judge(index, Y, OWN, fields.get("common"), (FIRST,))


def test_a_known_answer() -> None:
    one = found(common=-OWN)
    assert one.rows == 4
    assert one.own["accuracy"] == 0.75
    assert one.own["auc"] == 0.75  # one of two positives above both negatives, the other level with them
    assert one.common is not None
    assert one.common["accuracy"] == 0.25
    (group,) = one.groups
    assert (group.name, group.rows, group.own["accuracy"]) == ("first", 2, 1.0)
    assert math.isnan(group.own["auc"])  # of one class
    sure = 1 / (1 + math.exp(-2))
    assert one.own["calibration_error"] == pytest.approx(abs(sure - 0.75))


def test_no_rows_are_no_numbers() -> None:
    nobody = judge(0, Y[:0], OWN[:0], None)
    assert nobody.rows == 0
    assert all(math.isnan(value) for value in nobody.own.values())


def test_lines_come_back_and_the_last_word_on_a_round_counts(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    assert judged.read(path) == ()
    for index in (0, 1, 1):
        judged.add(path, found(index))
    assert [one.round_index for one in judged.read(path)] == [0, 1]
    assert judged.read(path)[0].to_json() == found(0).to_json()
    assert path.stat().st_mode & 0o077 == 0


def test_the_digest_is_of_every_number() -> None:
    assert found().digest == found().digest
    assert found().digest != found(1).digest
    assert found().digest != found(common=OWN).digest


@pytest.mark.parametrize("method", ["sapefl", "fedavg", "lcfed"])
def test_every_round_is_judged_as_the_simulator_judges_it(world: Callable[..., Any], method: str) -> None:
    deployed = world(method=method, rounds=2)
    deployed.start_all()
    deployed.run()
    config = deployed.file.config().model_copy(update={"workers": 0})
    result = Simulation(assemble(config, deployed.federation())).run()
    for place, name in enumerate(deployed.file.sites):
        rounds = judged.read(judged_path(deployed.folder / name))
        assert [one.round_index for one in rounds] == [0, 1]
        assert deployed.agents[name].judged == rounds[-1]
        for one, record in zip(rounds, result.rounds, strict=True):
            assert one.own["accuracy"] == record.personal.accuracy.per_client[place]
            assert one.own["brier"] == pytest.approx(record.personal.metrics["brier"].per_client[place], abs=1e-5)
            assert one.common is not None
            assert one.common["accuracy"] == record.everywhere.accuracy.per_client[place]
        events = deployed.ledgers[name].events("judged")
        assert [event.digest for event in events] == [one.digest for one in rounds]
        assert not any(character.isdigit() for event in events for character in event.note)  # no result in a ledger
