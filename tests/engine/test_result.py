"""What a run gives back: names that scripts rely on, and records that come back from their lines."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.engine.result import Leg, Result, RoundRecord, Sent, Traffic
from secure_sapefl.metrics import Scores, Spread
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel

SPREAD = {"mean", "std", "per_client"}
CONTRACT: dict[str, set[str] | None] = {
    "method": None, "dataset": None, "clients": None, "rounds": None, "seed": None, "protection": None, "device": None,
    "versions": None, "accuracy": SPREAD, "auc": SPREAD, "global_accuracy": SPREAD, "privacy": None,
    "bytes": {"up_per_client_round", "down_per_client_round", "update_bytes_per_parameter"},
    "seconds": {"total", "local", "similarity", "personal", "encrypt", "aggregate", "decrypt", "evaluate"},
    "skipped_rounds": None, "parameters": None,
}  # fmt: skip
BESIDES = {
    "source",
    "partition",
    "client_names",
    "client_rows",
    "refused",
    "similarity_matrix",
    "late_clients",
    "preparation",
    "metrics",
    "global_metrics",
    "main_metric",
    "task",
    "keys",
}


def test_the_summary_keeps_its_contract(whole: tuple[Path, Result]) -> None:
    """Scripts rely on these names; new ones are added here on purpose or not at all."""
    folder, result = whole
    summary = result.summary()
    assert summary.keys() == CONTRACT.keys() | BESIDES
    for key, inner in CONTRACT.items():
        if inner is not None:
            assert summary[key].keys() >= inner, key
    for key in ("bytes", "seconds"):
        assert summary[key].keys() == CONTRACT[key]
    assert json.loads((folder / "summary.json").read_text()) == summary


def test_what_the_summary_says(whole: tuple[Path, Result]) -> None:
    summary = whole[1].summary()
    assert (summary["method"], summary["dataset"], summary["protection"]) == ("sapefl", "synthetic", "plaintext")
    assert (summary["clients"], summary["rounds"], summary["seed"], summary["privacy"]) == (4, 4, 0, None)
    for key in ("accuracy", "auc", "global_accuracy"):
        per_client = summary[key]["per_client"]
        assert len(per_client) == 4
        assert all(0 <= value <= 1 for value in per_client)
        assert summary[key]["mean"] == pytest.approx(np.mean(per_client))
        assert summary[key]["std"] == pytest.approx(np.std(per_client))
    assert summary["parameters"] == 20 * 128 + 128 + 128 * 64 + 64 + 64 * 3 + 3
    assert summary["bytes"]["update_bytes_per_parameter"] == pytest.approx(4, abs=0.01)
    assert whole[1].accuracy.mean == summary["accuracy"]["mean"]


def test_a_record_comes_back_from_its_line() -> None:
    record = RoundRecord(
        round_index=3,
        personal=Scores({"accuracy": Spread((0.5, 1.0)), "auc": Spread((0.25, 0.75))}),
        everywhere=Scores({"accuracy": Spread((0.5, 0.5))}),
        changed=True,
        weights=(("a", 3), ("b", 1)),
        traffic=Traffic(up=10.0, down=20.0, update=8.0),
        seconds={"local": 1.5},
        total_seconds=2.0,
        similarity={"score_min": 0.1},
        refusals=(Refusal("c", "a value is NaN"),),
    )
    assert RoundRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_value_that_is_undefined_travels_as_null(tiny: Callable[..., Config]) -> None:
    line = simulate(tiny(rounds=1, method="local")).rounds[0].to_json()
    line["metrics"]["auc"]["per_client"] = [None, 0.5]
    first, second = RoundRecord.from_json(line).personal.auc.per_client
    assert math.isnan(first)
    assert second == 0.5


def test_traffic_is_a_mean_over_those_who_sent_and_those_who_were_invited() -> None:
    sealed = SealedModel(sender="b", round_index=0, blob=b"1234")
    invitations = [
        Invitation(site="a", round_index=1, peers=("b",), models=(sealed,)),
        Invitation(site="b", round_index=1, peers=(), models=()),
    ]
    upload = RoundUpload(site="a", round_index=1, similarity_score=1.0, update=b"12", theta_personal=sealed)
    uploads = [Sent.from_upload(upload)]
    outcome = RoundOutcome(round_index=1, aggregate=b"123456", weights=(), refusals=())
    assert Traffic.from_messages(invitations, uploads, outcome, Leg()) == Traffic(
        up=8 + 2 + 4, update=2, down=6 + 4 / 2
    )
    assert Traffic.from_messages(invitations, [], outcome, Leg()).up == 0
    with_leg = Traffic.from_messages(invitations, uploads, outcome, Leg(up=10, down=100))
    assert with_leg == Traffic(up=24, update=2, down=108), "a committee's leg counts on top"
