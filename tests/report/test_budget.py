"""What the page says about the budget."""

import pytest

from secure_sapefl.report.budget import budget_of


@pytest.mark.parametrize(("covered", "said"), [(True, "yes"), (False, "no")])
def test_whether_preparing_rows_is_covered_is_said_in_words(make_run, covered, said):
    facts = dict(budget_of(make_run(privacy={"epsilon_max": 1.0, "preparation_covered": covered})).facts)
    assert facts["The way rows are prepared is covered"] == said


def test_a_run_without_a_budget_has_none(make_run):
    assert budget_of(make_run()) is None


def test_facts_come_in_the_order_of_reading_and_other_values_after_them(make_run):
    recorded = {"colour": "red", "clip": None, "delta": 1e-5, "epsilon_budget": 4.0, "events": [1, 2]}
    assert budget_of(make_run(privacy=recorded)).facts == (
        ("Budget of every site, ε", "4"),
        ("δ", "1e-05"),
        ("Largest gradient of one record", "–"),
        ("colour", "red"),
    )


def test_notes_are_shown_without_control_characters(make_run):
    assert budget_of(make_run(privacy={"delta": 1e-5, "notes": ["a\x1bb"]})).notes[0].isprintable()
