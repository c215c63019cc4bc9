import json

from typer.testing import CliRunner

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
