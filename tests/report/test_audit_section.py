"""The audit's part of the page, from its file."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.report import view
from secure_sapefl.report.audit_section import read_audit
from secure_sapefl.report.page import render_page
from secure_sapefl.report.run import load_run

Document = Callable[..., dict[str, Any]]


def test_a_run_without_an_audit_has_no_section(tmp_path: Path) -> None:
    assert read_audit(tmp_path) is None


def test_what_was_found_is_worded(tmp_path: Path, audit_document: Document) -> None:
    alarm = {"check": "canaries", "sentence": "Too much."}
    (tmp_path / "audit.json").write_text(json.dumps(audit_document(alarms=[alarm])))
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


def test_a_phone_shows_each_cell_under_the_name_of_its_own_column(
    make_folder: Callable[[], Path], audit_document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the header is hidden, and style puts every cell's own label before it."""
    monkeypatch.setattr(view, "to_svg", lambda *_: "")
    folder = make_folder()
    (folder / "audit.json").write_text(json.dumps(audit_document()))
    tables = re.findall(r'<table class="sights">.*?</table>', render_page([load_run(folder)]), re.DOTALL)
    assert len(tables) == 2
    for table in tables:
        columns = re.findall(r'<th scope="col">(.*?)</th>', table)[1:]
        labels = re.findall(r'<td data-label="(.*?)">', table)
        assert len(labels) == table.count("<td")
        assert labels == columns * (len(labels) // len(columns))
