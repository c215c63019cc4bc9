"""The audit's part of the page, from its file."""

import json
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.report.audit_section import read_audit

RATE = {"value": 0.05, "low": 0.02, "high": 0.08}
DETECTION = {
    "auc": {"value": 0.75, "low": 0.7, "high": 0.8},
    "tpr_at_fpr": {"0.01": RATE, "0.001": None},
}
REBUILT = {"share_rebuilt": 1.0, "rebuilt": 4, "error_best": 0.0, "psnr_best": None}


def document(**changes: Any) -> dict[str, Any]:
    peer = {
        "who": "site <b>",
        "membership": {"updates": {"loss_threshold": DETECTION, "rmia": None}},
        "inversion": REBUILT,
        "properties": {"scores": [{"property": "label entropy", "p_value": 0.01, "r_squared": 0.6}], "sizes": "None."},
    }
    epsilon = {"epsilon": 2.1, "delta": 1e-5, "right": 9, "guesses": 10, "canaries": 40, "reachable": 3.0}
    mechanism = {"release": "update", "epsilon_lower": 0.0, "epsilon_claimed": 0.4}
    return {
        "parties": {"peer": peer},
        "timing": {"peer": "Not in its sight."},
        "empirical_epsilon": {**epsilon, "claimed": 4.0, "mechanisms": [mechanism]},
        "inversion_control": REBUILT,
        "server_attacks": {"forgeries_accepted": {"a": False, "b": False}},
        "alarms": [],
        **changes,
    }


def test_a_run_without_an_audit_has_no_section(tmp_path: Path) -> None:
    assert read_audit(tmp_path) is None


def test_what_was_found_is_worded(tmp_path: Path) -> None:
    alarm = {"check": "canaries", "sentence": "Too much."}
    (tmp_path / "audit.json").write_text(json.dumps(document(alarms=[alarm])))
    section = read_audit(tmp_path)
    assert section is not None
    (peer,) = section.parties
    assert peer.membership[0].startswith("updates: AUC 0.75 (0.70 to 0.80); finds 5.0% (2.0% to 8.0%) at 1.0%")
    assert "for want of rows" in peer.membership[0]
    assert peer.learnt == ("scores: label entropy (R² 0.60, p 0.010)",)
    assert "at least 2.10" in section.epsilon
    assert "at most 4.00" in section.epsilon
    assert section.forgeries == "2 forged sums and models were sent to the sites; none passed."
    assert (section.alarms, section.picture) == (("Too much.",), None)


def test_a_damaged_audit_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(json.dumps({"parties": {}}))
    with pytest.raises(KeyError):
        read_audit(tmp_path)
