"""Tables of a finished `budget`, in the page."""

from evidence_budget import ARGUMENTS, TITLES, tables_of, written
from evidence_kept import MARKS

EMPTY = {"command": "", "sites": {}, "runs": []}
DOCUMENT = """# Accuracy

- a setting

## Accuracy, %

| ε | local |
| --- | --- |
| 2 | 50.0 |

## sapefl: noise and shares of the budget

| ε | update |
| --- | --- |
| 2 | 45% |

- a note
"""


def test_tables_are_found_by_their_titles():
    tables = tables_of(DOCUMENT)
    assert list(tables) == ["Accuracy, %", "sapefl: noise and shares of the budget"]
    assert tables["Accuracy, %"] == ["| ε | local |", "| --- | --- |", "| 2 | 50.0 |"]
    assert tables["sapefl: noise and shares of the budget"][-1] == "| 2 | 45% |"


def test_a_page_shows_what_is_finished_and_the_command_that_made_it():
    finished = {"command": "secure-sapefl budget --seeds 1", "tables": tables_of(DOCUMENT)}
    run = {"version": "1", "commit": "abc", "seconds": 1800}
    kept = dict.fromkeys(ARGUMENTS, EMPTY) | {"privacy-heart": {**EMPTY, "runs": [run], "finished": finished}}
    page = written(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter", kept)
    assert page.startswith("before\n")
    assert page.endswith("\nafter")
    for text in (TITLES["privacy-heart"], "secure-sapefl budget --seeds 1", "| 2 | 50.0 |", "(commits abc)"):
        assert text in page
    assert "45%" not in page, "how a budget is divided is said elsewhere"
    assert TITLES["privacy-har-100"] not in page
