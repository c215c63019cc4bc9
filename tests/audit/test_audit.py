"""A whole audit: what it says of runs with and without privacy, and that it says the same again."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit.audit import Effort, audit, write_findings
from secure_sapefl.audit.findings import Findings
from secure_sapefl.audit.rebuilding import REBUILT
from secure_sapefl.errors import BadInput

SMALL: dict[str, Any] = {"clients": 8, "rounds": 2, "data_options": {"rows": 800, "classes": 3, "informative": 5}}


@pytest.fixture(scope="module")
def findings(audited: Callable[..., Findings], effort: Effort) -> Findings:
    return audited(replace(effort, pairs=1, canaries=100), **SMALL)


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for part in value.values() for n in numbers(part)]
    if isinstance(value, list):
        return [n for part in value for n in numbers(part)]
    return [value] if isinstance(value, float) else []


def test_without_privacy_the_bound_is_clearly_above_zero(findings: Findings) -> None:
    assert findings.epsilon.claimed is None
    assert findings.epsilon.lower.epsilon > 0.5


def test_what_each_party_could_try(findings: Findings) -> None:
    tried = {party.name: {one.kind for one in party.memberships} for party in findings.parties}
    assert tried == {
        "server": set(),
        "peer": {"global model", "personal models"},
        "server and one site": {"global model", "personal models", "updates"},
        "observer": set(),
    }
    assert [party.rebuilding is not None for party in findings.parties] == [False, False, True, False]
    assert min(findings.control.errors) < REBUILT, "the attack itself works: one row alone comes back"
    assert findings.alarms == ()


def test_the_document_is_valid_json_with_finite_numbers(findings: Findings) -> None:
    document = findings.to_json()
    assert all(math.isfinite(number) for number in numbers(document))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["same_numbers_again"] is True


def test_the_same_seed_gives_the_same_audit(findings: Findings, finished: Callable[..., Path], effort: Effort) -> None:
    again = audit(finished(**SMALL), replace(effort, pairs=1, canaries=100)).to_json()
    once = findings.to_json()
    del again["timing"], once["timing"]
    assert again == once


def test_files_appear_beside_the_run(findings: Findings, tmp_path: Path) -> None:
    write_findings(findings, tmp_path)
    assert json.loads((tmp_path / "audit.json").read_text())["method"] == "sapefl"
    assert (tmp_path / "plots" / "audit-inversion.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_not_a_finished_run_is_refused(tmp_path: Path, finished: Callable[..., Path]) -> None:
    with pytest.raises(BadInput, match="not a folder"):
        audit(tmp_path / "nothing")
    with pytest.raises(BadInput, match="not the folder of a run"):
        audit(tmp_path)
    (tmp_path / "config.toml").write_text("rounds = 2\n")
    with pytest.raises(BadInput, match="not a finished run"):
        audit(tmp_path)
    with pytest.raises(BadInput, match="sends nothing"):
        audit(finished(**SMALL, method="local"))


TASKS: dict[str, dict[str, Any]] = {
    "regression": {"task": "regression", "data_options": {"rows": 800}},
    "multilabel": {"task": "multilabel", "data_options": {"rows": 800, "classes": 3}},
}
FEW: dict[str, Any] = {"clients": 8, "rounds": 2, "local_epochs": 1}


@pytest.mark.parametrize("task", TASKS)
def test_other_tasks_are_attacked_by_their_own_loss(
    task: str, audited: Callable[..., Findings], effort: Effort
) -> None:
    found = audited(replace(effort, pairs=1, canaries=60), **FEW, **TASKS[task], protection="plaintext")
    assert found.facts["task"] == task
    assert found.facts["same_numbers_again"] is True
    assert found.epsilon.lower.epsilon > 0.3, "without privacy, canaries are found"
    assert min(found.control.errors) < REBUILT, "the attack itself works: one row alone comes back"
    assert found.parties[0].rebuilding is not None
    assert not isinstance(found.parties[0].sizes, tuple), "every site sends the same"
    assert json.dumps(found.to_json(), allow_nan=False)
    assert found.alarms == ()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_forgotten_noise_is_found_in_every_task(
    task: str, finished: Callable[..., Path], effort: Effort, mutate: Callable[[str], Any], private: dict[str, float]
) -> None:
    run = finished(**FEW, **TASKS[task], **private, protection="plaintext")
    assert audit(run, replace(effort, canaries=60)).alarms == ()
    with mutate("noise forgotten in training"):
        assert "mechanism alone" in {alarm.check for alarm in audit(run, replace(effort, canaries=60)).alarms}


def test_a_loss_of_whole_batches_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    survival = Path(__file__).parents[2] / "examples" / "tasks" / "survival.py"
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.normal(size=(90, 2)), rng.exponential(size=90), rng.random(90) < 0.5])
    np.savetxt(tmp_path / "s.csv", columns, "%.3f", ",", header="a,b,time,event", comments="")
    small = {"clients": 3, "rounds": 1, "local_epochs": 1, "protection": "plaintext", "partition": "iid"}
    data = {"dataset": str(tmp_path / "s.csv"), "label": "time,event", "task": f"{survival}:TASK"}
    simulate(Config(**small, **data, model="linear"), tmp_path / "run")
    with pytest.raises(BadInput, match="'survival' is one of whole batches"):
        audit(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fedavg", "ditto", "lcfed", "fedacs", "perfedavg", "sapefl-plus"])
def test_other_methods_are_audited_as_far_as_they_speak(
    method: str, audited: Callable[..., Findings], effort: Effort
) -> None:
    found = audited(replace(effort, canaries=60), **SMALL, method=method)
    assert found.alarms == ()
    assert found.parties[2].memberships
    assert json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("budget", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_model_with_dropout_is_audited_though_nobody_knows_the_masks(
    budget: bool, audited: Callable[..., Findings], effort: Effort, private: dict[str, float]
) -> None:
    less = replace(effort, canaries=60, trainings=40, queries=40)
    found = audited(less, **FEW, **(private if budget else {}), model="table", protection="plaintext")
    assert found.alarms == ()
    assert found.facts["same_numbers_again"] is True
    assert (min(found.control.errors) < REBUILT) != budget
    assert bool(found.epsilon.mechanisms) == budget
