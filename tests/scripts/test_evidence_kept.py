"""How numbers came about, as a page says it."""

import math

from evidence_kept import MARKS, NONE, WIDTH, between_marks, commands, defined

RUN = {"version": "1", "commit": "abc", "seconds": 900}


def test_what_stands_between_the_marks_is_renewed_and_nothing_else():
    page = f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter"
    assert between_marks(page, ["new", "lines"]) == f"before\n{MARKS[0]}\n\nnew\n\nlines\n\n{MARKS[1]}\nafter"
    assert NONE in between_marks(page, [])


def test_commands_versions_commits_and_hours():
    kept = [{"command": f"c{number}", "sites": {}, "runs": [RUN | {"commit": f"d{number}"}] * 2} for number in (1, 2)]
    said = commands(kept)
    assert "```bash\nc1\nc2\n```" in said
    assert said.endswith("Made by version 1 (commits d1, d2) in 1.0 hours.")
    assert all(len(line) <= WIDTH for line in said.splitlines())


def test_what_is_undefined_is_no_number():
    first, second = defined([None, 0.5])
    assert math.isnan(first)
    assert second == 0.5
