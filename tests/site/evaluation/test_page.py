"""A site's report as a page: every number worded, nothing fetched."""

from collections.abc import Callable
from html import unescape

import pytest

from secure_sapefl.site.evaluation.findings import Findings
from secure_sapefl.site.evaluation.page import ALONE_TRAINED, page
from secure_sapefl.site.ledger.export import StudySummary
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from tests.site.evaluation.made_up import found, found_labels, found_numbers

SENT = StudySummary(name="heart", digest="0" * 64, sent=3, size=1500, refused=0, epsilon="none", replaced="none")


def test_it_says_what_is_known_and_what_left(study: StudyFile) -> None:
    text = unescape(page(found(), StudyTerms.from_file(study), SENT))
    said = ("100.0 % (91.2 % to 100.0 %)", "3 messages, 1.5 kB", "Privacy spent, ε")
    for words in (found().verdict, ALONE_TRAINED, *said):
        assert words in text
    assert "north in study heart" in text
    assert "default-src 'none'" in text
    assert "No groups are named" in text


def test_numbers_are_judged_by_their_errors(study: StudyFile) -> None:
    text = unescape(page(found_numbers(), StudyTerms.from_file(study), SENT))
    for words in ("MAE, own model", "1.000 (1.000 to 1.000)", "R²", "RMSE", "predicted against measured"):
        assert words in text
    assert "Calibration error" not in text
    assert "Accuracy, own" not in text


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("made", [found, found_labels, found_numbers])
def test_without_rows_or_ledger_it_is_still_a_page(study: StudyFile, rows: int, made: Callable[..., Findings]) -> None:
    text = page(made(rows=rows), StudyTerms.from_file(study), None)
    assert "nothing on record" in text
    assert ">nan" not in text


def test_it_says_what_of_it_left(make_study: Callable[..., StudyFile]) -> None:
    def said(**fields: object) -> str:
        study = make_study(**fields).model_copy(update={"metrics": "sum"})  # of three sites, which no real one has
        return unescape(page(found(), StudyTerms.from_file(study), SENT))

    assert "the own model's last results left once" in said(privacy=None)
    assert "counts behind the common model's last results left once, with noise" in said(
        privacy={"epsilon": 4, "delta": 1e-5}
    )
