"""Errors are sentences with an exit code; the tree at the head of the module is the tree there is."""

import inspect
import pickle
import re

import pytest

from secure_sapefl import errors
from secure_sapefl.errors import BadInput, SapeflError, UnknownName

CLASSES = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, SapeflError)}


def test_the_tree_names_every_error_with_its_exit_code() -> None:
    drawn = dict(re.findall(r"──\s(\w+)\s+\((\d)\)", errors.__doc__ or ""))
    assert drawn == {name: str(kind.exit_code) for name, kind in CLASSES.items() if kind is not SapeflError}


def test_it_draws_bad_input_above_its_kinds() -> None:
    below = set(re.findall(r"│\s+[├└]── (\w+)", errors.__doc__ or ""))
    assert below == {name for name, kind in CLASSES.items() if issubclass(kind, BadInput) and kind is not BadInput}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fedvag", "Unknown method 'fedvag'. Did you mean 'fedavg'? Run `methods` for all of them."),
        ("qqq", "Unknown method 'qqq'. Known: ditto, fedavg. Run `methods` for all of them."),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_or_with_all(name: str, said: str) -> None:
    assert str(UnknownName("method", name, ["fedavg", "ditto"], "methods")) == said


def test_where_no_command_lists_the_names_the_error_does_up_to_a_number() -> None:
    near = "Unknown column 'result'. Did you mean 'pressure'? Known: outcome, pressure."
    assert str(UnknownName("column", "result", ["pressure", "outcome"])) == near
    many = str(UnknownName("column", "x", [f"column-{number}" for number in range(1000)]))
    assert many.endswith(", ….")
    assert len(many) < 500


def test_an_unknown_name_crosses_processes_as_its_sentence() -> None:
    error = UnknownName("model", "smal", ["small", "paper"])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what this test wrote itself
    assert (str(again), again.exit_code) == (str(error), 2)
