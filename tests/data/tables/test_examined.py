"""A finding is waved through by a name and read as a sentence."""

from secure_sapefl.data.tables.examined import Finding


def test_a_finding_has_a_name_to_accept_it_by_and_a_sentence_to_read() -> None:
    found = Finding(kind="identifier", column="case", says="has another value in every record")
    assert found.name == "identifier:case"
    assert found.sentence == "Column 'case': has another value in every record."
    assert not found.dangerous
