"""What a round of counts is, in words."""

from collections.abc import Callable
from typing import Any

from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.counting_words import TWO_SITES, note, table_facts, table_notes, to_json, warnings_of
from secure_sapefl.study.file import StudyFile

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}
TABLE_ONE: dict[str, Any] = {"kind": "statistics", "rounds": 1}


def test_words_for_people_and_programs(make_study: MakeStudy) -> None:
    plain = CountingTerms.of_table_one(make_study(**TABLE_ONE, min_cohort=2))
    private = CountingTerms.of_table_one(make_study(**TABLE_ONE, privacy=PRIVATE))
    assert TWO_SITES in warnings_of(plain)
    assert "exact" in table_facts(plain)["privacy"]
    assert "noise of deviation" in table_facts(private)["privacy"]
    assert to_json(plain)["leaves"][0]["bytes"] > 0
    assert note(plain).startswith("# heart: a Table 1 over all sites")
    assert any("single patient" in line for line in table_notes(plain, 3))
    assert any("carry noise" in line for line in table_notes(private, 2))
    assert TWO_SITES in table_notes(private, 2)
