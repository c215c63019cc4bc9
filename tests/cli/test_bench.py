import json

import pytest
from typer.testing import CliRunner

from sapefl_crypto.joint.bench import run as bench
from secure_sapefl.cli.app import app

SMALL = ["bench", "crypto", "--params", "4200", "--clients", "3"]


def test_json_is_one_document_and_progress_goes_elsewhere() -> None:
    result = CliRunner().invoke(app, [*SMALL, "--format", "json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert (report["parameters"], report["clients"], report["security_bits"]) == (4200, 3, 192)
    assert {"ours", "naive", "ratios", "peak_memory_mb", "scaling", "targets"} <= set(report)
    assert "encrypting" in result.stderr


def test_the_table_names_both_sides_and_the_targets() -> None:
    result = CliRunner().invoke(app, SMALL)
    assert result.exit_code == 0
    for word in ("this recipe", "ordinary TenSEAL", "times faster encryption", "Peak memory"):
        assert word in result.stdout


def test_bad_usage_exits_with_two() -> None:
    assert CliRunner().invoke(app, ["bench", "crypto", "--clients", "0"]).exit_code == 2


JOINT = [*SMALL, "--keys", "joint", "--tree-frames", "30"]


def test_joint_keys_against_shared_and_ordinary_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured once, shown both ways."""
    report = bench.run(4200, 3, 30, lambda _: None)
    monkeypatch.setattr(bench, "run", lambda *_: report)
    said = " ".join(CliRunner().invoke(app, JOINT).output.split())
    for wanted in ("joint keys", "shared keys", "before the update exists", "a region's sum", "share bytes up"):
        assert wanted in said
    written = json.loads(CliRunner().invoke(app, [*JOINT, "--format", "json"]).stdout)
    assert written["tree"]["frames"] == 30
    assert written["joint"]["max_error"] <= 2.0**-27
    assert {target["name"] for target in written["targets"]} >= {"bytes of shares up", "upload bytes per parameter"}


def test_joint_keys_need_three_sites() -> None:
    result = CliRunner().invoke(app, ["bench", "crypto", "--keys", "joint", "--clients", "2", "--params", "10"])
    assert "3 clients at least" in str(result.exception)
