"""Text that people and programs read, letter by letter."""

from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.experiments.tables import Document, Sheet, markdown_table, number, p_value, percent, points

NAN = float("nan")


def test_numbers_as_people_read_them() -> None:
    assert percent(Estimate(0.90834, 0.0049)) == "90.83 ± 0.49"
    assert percent(Estimate(0.5, None)) == "50.00"
    assert percent(Estimate(NAN, None)) == percent(None) == "–"
    assert (points(0.0123), points(-0.5), points(NAN)) == ("+1.23", "-50.00", "–")
    assert (p_value(0.0004), p_value(0.0346)) == ("< 0.001", "0.035")
    assert (number(NAN), number(None), number(1 / 3)) == (None, None, 0.333333)


def test_a_bar_inside_a_cell_does_not_end_it() -> None:
    assert markdown_table(("a|b", "c"), [("1", "2|3")]) == "| a\\|b | c |\n| --- | --- |\n| 1 | 2\\|3 |"


def test_a_document_in_three_forms() -> None:
    made = Document(
        name="n",
        title="Title",
        setting=("two clients",),
        sheets=(Sheet(title="First", header=("a", "b"), rows=(("1", "2"),)),),
        notes=("a note",),
        records=({"a": 1, "b": None}, {"a": "x,y", "b": 0.5}),
        extra={"more": (1, 2)},
    )
    assert made.to_markdown() == (
        "# Title\n\n- two clients\n\n## First\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- a note\n"
    )
    assert made.to_csv() == 'a,b\n1,\n"x,y",0.5\n'
    assert made.to_json() == {
        "experiment": "n",
        "setting": ["two clients"],
        "records": [{"a": 1, "b": None}, {"a": "x,y", "b": 0.5}],
        "notes": ["a note"],
        "more": [1, 2],
    }
