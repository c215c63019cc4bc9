"""A whole audit: what it says of runs with and without privacy, and that it says the same again."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit.audit import Effort, audit, write_findings
from secure_sapefl.audit.findings import Findings
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
    assert findings.control.works, "the attack itself works: one row alone comes back"
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


def test_a_task_without_classes_is_refused_before_anything_is_run(finished: Callable[..., Path]) -> None:
    with pytest.raises(BadInput, match="task is regression, whose labels are none"):
        audit(finished(task="regression", clients=3, rounds=1, data_options={"rows": 90}))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fedavg", "ditto", "lcfed", "fedacs", "perfedavg", "sapefl-plus"])
def test_other_methods_are_audited_as_far_as_they_speak(
    method: str, audited: Callable[..., Findings], effort: Effort
) -> None:
    found = audited(replace(effort, canaries=60), **SMALL, method=method)
    assert found.alarms == ()
    assert found.parties[2].memberships
    assert json.dumps(found.to_json(), allow_nan=False)


def test_a_model_with_dropout_is_refused_in_a_sentence(tmp_path: Path, effort: Effort) -> None:
    small = {"clients": 3, "rounds": 1, "rows": 200, "local_epochs": 1, "protection": "plaintext"}
    simulate(Config(model="table", **small), tmp_path / "run")
    with pytest.raises(BadInput, match="its model has dropout"):
        audit(tmp_path / "run", effort)
