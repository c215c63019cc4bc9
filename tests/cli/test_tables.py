"""A summary as a person reads it: every row that applies, and none that does not."""

from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.cli.tables import show_summary

HALF = {"mean": 0.5, "std": 0.125, "defined": 3}
ACCURACY = {"title": "accuracy", "higher_is_better": True, "percent": True}
AUC = {"title": "AUC", "higher_is_better": True, "percent": False}
METRICS = {"accuracy": HALF | ACCURACY, "auc": HALF | AUC}
SUMMARY: dict[str, Any] = {
    "method": "sapefl", "dataset": "heart", "source": "heart.npz", "partition": "natural", "preparation": "none",
    "clients": 4, "rounds": 3, "seed": 7, "protection": "ckks", "main_metric": "accuracy", "metrics": METRICS,
    "global_metrics": {"accuracy": HALF | ACCURACY},
    "parameters": 12_345, "privacy": None, "late_clients": None, "skipped_rounds": [], "refused": [],
    "bytes": {"up_per_client_round": 999, "down_per_client_round": 1_500_000, "update_bytes_per_parameter": 8.04},
    "seconds": {"total": 9.0, "local": 2.0, "personal": 6.0, "evaluate": 0.01},
}  # fmt: skip
SPENT = {
    "epsilon_max": 1.234, "epsilon_max_replace_one": 2.5, "epsilon_budget": 4.0, "delta": 1e-5, "stopped": [],
    "preparation_covered": True,
}  # fmt: skip
LATE = {
    "names": ["x"], "metrics": {"accuracy": {"mean": 0.9}}, "local_only": {"metrics": {"accuracy": {"mean": 0.8}}},
    "global_model": None, "global_fine_tuned": {"metrics": {"accuracy": {"mean": 0.7}}},
}  # fmt: skip


@pytest.fixture
def rows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "250")

    def show(**changes: Any) -> dict[str, str]:
        show_summary(SUMMARY | changes, Path("run"))
        cells = (line.strip("│ ").split("│") for line in capsys.readouterr().out.splitlines() if "│" in line)
        return {name.strip(): value.strip() for name, value in cells}

    return show


def test_every_number_in_its_row(rows) -> None:
    found = rows()
    assert found["sites, rounds, seed"] == "4, 3, 7"
    assert found["accuracy, own models"] == "0.5000 ± 0.1250 over sites"
    assert found["AUC, own models"].endswith("defined at 3 sites")
    assert found["a site's traffic a round"] == "999 B up, 1.5 MB down"
    assert found["update"] == "12,345 parameters, 8.04 bytes each on the wire"
    assert found["seconds"] == "9.0 in all: personal 6.0, local 2.0"
    assert found["protection"].startswith("ckks: updates encrypted")
    assert not {"sites are trained", "share of the base"} & set(found)
    assert not {"differential privacy", "late sites, accuracy", "global model unchanged", "left out"} & set(found)


def test_what_a_model_or_a_task_does_not_allow_is_said(rows) -> None:
    found = rows(trained="site after site: lstm", base_share="none: no mix")
    assert found["sites are trained"] == "site after site: lstm"
    assert found["share of the base"] == "none: no mix"


def test_a_method_that_sends_nothing_is_not_called_protected(rows) -> None:
    silent = {"up_per_client_round": 0, "down_per_client_round": 0, "update_bytes_per_parameter": 0}
    found = rows(bytes=silent, skipped_rounds=[0, 1, 2], metrics=METRICS | {"auc": AUC | HALF | {"mean": None}})
    assert found["protection"] == "none needed: nothing left a site"
    assert found["accuracy, global model"] == "none was trained"
    assert found["update"] == "12,345 parameters, not sent"
    assert found["AUC, own models"].startswith("undefined")
    assert "global model unchanged" not in found


def test_rounds_without_a_step_and_sites_left_out_are_counted_from_one(rows) -> None:
    refused = [{"site": "north", "round": 0}, {"site": "east", "round": 0}, {"site": "north", "round": 1}]
    found = rows(skipped_rounds=[0, 2], refused=refused)
    assert found["global model unchanged"] == "in rounds 1, 3"
    assert found["left out"] == "3 times: east, north"


def test_what_was_spent_and_what_it_does_not_cover(rows) -> None:
    words = rows(privacy=SPENT)["differential privacy"]
    assert words.startswith("ε 1.23 of 4 at δ 1e-05")
    assert "2.5 for a record that is replaced" in words
    assert "not covered" not in words
    stopped = SPENT | {"stopped": [{"site": "east"}], "preparation_covered": False}
    words = rows(privacy=stopped)["differential privacy"]
    assert "how rows were prepared is not covered" in words
    assert words.endswith("sat out: east")


def test_late_sites_beside_what_they_would_have_had(rows) -> None:
    assert rows(late_clients=LATE)["late sites, accuracy"] == (
        "0.9000 after one round (1 site); 0.8000 as long alone, 0.7000 it, trained as long"
    )


def test_where_lower_is_better_the_table_says_so(rows) -> None:
    errors = {"title": "MAE", "higher_is_better": False, "percent": False}
    found = rows(main_metric="mae", metrics={"mae": HALF | errors}, global_metrics={"mae": HALF | errors})
    assert found["MAE, own models (lower is better)"] == "0.5000 ± 0.1250 over sites"
    assert found["MAE, global model"] == "0.5000 ± 0.1250 over sites"
    assert not any("AUC" in name for name in found)
