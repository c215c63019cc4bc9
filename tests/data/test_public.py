"""What a private study says of its data aloud."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.config import PublicFacts
from secure_sapefl.data import ClientData, Rows
from secure_sapefl.data.public import about, completed, with_lists
from secure_sapefl.data.table import Table
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.errors import BadInput
from tests.data.neighbours import OWN


@pytest.mark.parametrize(("count", "said"), [(0, 1), (7, 7), (99, 99), (243, 240), (988, 990), (16_450, 16_000)])
def test_a_simulated_owner_says_a_round_number(count: int, said: int) -> None:
    assert about(count) == said


def test_a_row_of_a_class_nobody_announced_is_refused(tmp_path: Path) -> None:
    OWN.write(tmp_path)
    with pytest.raises(BadInput, match="class '2' is not on the public list of the study: 0, 1"):
        federation_of(OWN.config(tmp_path, PublicFacts(classes=("0", "1"))))


def test_lists_decide_how_classes_and_groups_are_counted(make_table: Callable[..., Table]) -> None:
    table = make_table([0, 1, 1], group=np.array([0, 1, 0]), group_names=("north", "south"))
    counted = with_lists(table, PublicFacts(classes=("class 1", "class 0", "rare"), groups=("south", "east", "north")))
    assert (counted.class_names, counted.y.tolist()) == (("class 1", "class 0", "rare"), [1, 0, 0])
    assert (counted.group_names, counted.group.tolist()) == (("south", "east", "north"), [2, 0, 2])
    assert with_lists(table, PublicFacts()).y.tolist() == [0, 1, 1]
    with pytest.raises(BadInput, match="group 'south' is not on the public list"):
        with_lists(table, PublicFacts(groups=("north",)))


def test_a_number_that_an_owner_said_stands() -> None:
    def client(name: str, count: int) -> ClientData:
        rows = Rows(np.zeros((count, 1), np.float32), np.zeros(count, np.int64))
        return ClientData(name=name, train=rows, test=rows)

    facts = completed(PublicFacts(rows={"a": 1000}), [client("a", 3), client("b", 243)])
    assert facts.rows == {"a": 1000, "b": 240}
