"""Table 1 from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.cli.app import main


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(20, 90)};{'mw'[k % 2]};{['Köln', 'Łódź'][k % 2]};{rng.integers(2)}" for k in range(80)]
    Path("p.csv").write_text("\n".join(["Alter;Geschlecht;Klinik;krank", *rows]) + "\n", encoding="utf-8")
    return tmp_path


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["secure-sapefl", *words])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def test_a_table_for_people_files_and_programs(
    patients: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "schema", "p.csv", "--label", "krank"], monkeypatch) == 0
    words = ["statistics", "p.csv", "--data-schema", "schema.toml"]
    assert run([*words, "--out", "one"], monkeypatch) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With two sites, the total less one's own counts is the other's." in said
    assert "–: a count below 5, or one from which such a count would follow. Sites open the totals before" in said
    assert Path("one/table-1.csv").read_text().startswith("column,says,all,0,1\nrecords,n,80,")
    assert run([*words, "--epsilon", "1", "--delta", "1e-5", "--format", "json"], monkeypatch) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sites"] == ["Köln", "Łódź"]
    assert any(note.startswith("Private: every site's counts carry noise") for note in document["notes"])


def test_half_a_budget_is_refused(
    patients: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["statistics", "p.csv", "--data-schema", "schema.toml", "--epsilon", "1"], monkeypatch) == 2
    assert "given together" in capsys.readouterr().err
