"""A finding is waved through by a name and read as a sentence."""

import pytest

from secure_sapefl.data.tables.examined import Finding, spelling


def test_a_finding_has_a_name_to_accept_it_by_and_a_sentence_to_read() -> None:
    found = Finding(kind="identifier", column="case", says="has another value in every record")
    assert found.name == "identifier:case"
    assert found.sentence == "Column 'case': has another value in every record."
    assert not found.dangerous


@pytest.mark.parametrize(
    "names",
    [("yes", "YES"), ("f", " F "), ("1", "1.0"), ("grade-1", "Grade 1"), ("a_b", "A B."), ("St. Gallen", "st gallen")],
)
def test_one_name_spelt_differently(names: tuple[str, str]) -> None:
    assert len({spelling(name) for name in names}) == 1


@pytest.mark.parametrize(
    "names",
    [("-1", "1"), ("<5", ">5"), (">50K", "<=50K"), ("+", "-"), ("A", "A-", "A+"), ("1.5 mg", "15 mg"), ("2-3", "23")],
)
def test_other_names(names: tuple[str, ...]) -> None:
    assert len({spelling(name) for name in names}) == len(names)
