"""A run's numbers as a data frame and as HTML."""

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Scores, Spread


def test_a_frame_has_a_row_a_site_and_round(whole: tuple[Path, Result]) -> None:
    pytest.importorskip("pandas")
    result = whole[1]
    frame, names = result.to_pandas(), list(result.facts["client_names"])
    assert list(frame["round"].unique()) == [1, 2, 3, 4]
    assert list(frame["site"][-4:]) == names
    last = frame[frame["round"] == 4].set_index("site")
    assert tuple(last["accuracy"]) == result.accuracy.per_client
    assert tuple(last["global_accuracy"]) == result.global_accuracy.per_client
    assert set(result.rounds[-1].personal.metrics) < set(frame.columns)
    assert {site: int(weight) for site, weight in last["weight"].dropna().items()} == dict(result.rounds[-1].weights)
    assert len(last["weight"].dropna()) < len(names)


def test_without_pandas_it_says_what_to_install(whole: tuple[Path, Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadInput, match=r"pip install 'secure-sapefl\[tables\]'"):
        whole[1].to_pandas()


def test_records_written_before_there_were_more_metrics(whole: tuple[Path, Result]) -> None:
    pytest.importorskip("pandas")
    old = tuple(
        replace(r, personal=Scores({"accuracy": r.personal.accuracy, "auc": r.personal.auc})) for r in whole[1].rounds
    )
    frame = replace(whole[1], rounds=old).to_pandas()
    assert list(frame.columns) == ["round", "site", "accuracy", "auc", "global_accuracy", "weight"]


def test_a_notebook_shows_the_means_and_every_site(whole: tuple[Path, Result]) -> None:
    result = whole[1]
    page = ElementTree.fromstring(result._repr_html_())  # the name notebooks look for
    cells = [[cell.text for cell in row] for row in page.iter("tr")]
    assert ["accuracy", f"{result.accuracy.mean:.4f}", f"{result.accuracy.std:.4f}"] in cells
    assert [row[0] for row in cells[-4:]] == list(result.facts["client_names"])


def test_names_are_text_and_what_is_undefined_is_a_dash(whole: tuple[Path, Result]) -> None:
    hostile = {**whole[1].facts, "client_names": ["<script>alert(1)</script>", "b\x1b", "c", "d"]}
    undefined = replace(whole[1].rounds[-1], personal=Scores({"accuracy": Spread((float("nan"), 1, 1, 1))}))
    html = replace(whole[1], facts=hostile, rounds=(undefined,))._repr_html_()  # the name notebooks look for
    assert "<script>" not in html
    assert "\x1b" not in html
    assert "<td>–</td>" in html
    assert "after 0 rounds" in replace(whole[1], rounds=())._repr_html_()  # as above


def test_a_terminal_shows_one_printable_line(whole: tuple[Path, Result]) -> None:
    assert repr(whole[1]) == (
        f"<Result of sapefl on synthetic: 4 sites, plaintext, {whole[1].parameters:,} parameters, after 4 rounds>"
    )
    assert "\n" not in repr(replace(whole[1], facts={**whole[1].facts, "dataset": "a\nb"}, rounds=whole[1].rounds[:1]))
