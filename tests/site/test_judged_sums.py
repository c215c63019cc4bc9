"""Which sums a site found wrong: kept for good, counted from where its owner went on, and what they justify."""

from pathlib import Path

import pytest

from secure_sapefl.site.judged_sums import JudgedSum, JudgedSums, Verdict
from secure_sapefl.transport.reports import Report


def judged(round_index: int, verdict: Verdict = "wrong", senders: str = "abc") -> JudgedSum:
    return JudgedSum(round_index=round_index, digest=f"d{round_index}", senders=tuple(senders), verdict=verdict)


@pytest.fixture
def sums(tmp_path: Path) -> JudgedSums:
    return JudgedSums(tmp_path / "judged.json")


def test_what_was_judged_survives_a_restart(sums: JudgedSums, tmp_path: Path) -> None:
    sums.add(judged(0))
    sums.add(judged(1, "unjudged"))
    again = JudgedSums(tmp_path / "judged.json")
    assert again.wrong == (judged(0),)
    assert again.unjudged == (1,)


def test_a_sum_judged_again_after_a_crash_counts_once(sums: JudgedSums) -> None:
    sums.add(judged(0))
    sums.add(judged(0))
    assert sums.unforgiven == 1


def test_the_owner_goes_on_and_the_count_begins_anew(sums: JudgedSums, tmp_path: Path) -> None:
    sums.add(judged(0))
    sums.add(judged(1))
    assert sums.unforgiven == 2
    sums.forgive()
    assert JudgedSums(tmp_path / "judged.json").unforgiven == 0
    sums.add(judged(2))
    assert sums.unforgiven == 1
    assert len(sums.wrong) == 3


@pytest.mark.parametrize(
    ("verdict", "reporters", "just"),
    [
        ("wrong", "", True),
        ("unjudged", "", False),
        ("unjudged", "a", False),
        ("unjudged", "ab", True),  # two of three in it
        ("unjudged", "xyz", False),  # none of them was in it
    ],
)
def test_leaving_out_needs_a_wrong_sum_known_here_or_the_word_of_half(
    sums: JudgedSums, verdict: Verdict, reporters: str, just: bool
) -> None:
    sums.add(judged(0, verdict))
    reports = [Report(site, 0, "d0") for site in reporters]
    assert sums.justify(("c",), reports) is just
    assert not sums.justify(("elsewhere",), reports)


def test_reports_on_another_sum_justify_nothing(sums: JudgedSums) -> None:
    sums.add(judged(0, "unjudged"))
    assert not sums.justify(("c",), [Report(site, 0, "other") for site in "abc"])
    assert not sums.justify(("c",), [Report(site, 1, "d0") for site in "abc"])
