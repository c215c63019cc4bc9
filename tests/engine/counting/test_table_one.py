"""Sites count and encrypt, the server adds, a site opens."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.propose import propose, with_ranges
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import table_one
from secure_sapefl.data.tables.tally import by_class
from secure_sapefl.data.tables.values import table_of
from secure_sapefl.engine.counting.table_one import Asked, noise_of, simulated_table_one
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.ledger_file import FileStore

N = 600


@pytest.fixture
def columns() -> Columns:
    rng = np.random.default_rng(0)
    cells = {
        "site": ["a", "b", "c"] * (N // 3),
        "age": [str(rng.integers(20, 90)) for _ in range(N)],
        "ill": ["no" if rng.random() < 0.5 else "yes" for _ in range(N)],
    }
    return Columns(source="t", unit="line", cells=cells)


def described(columns: Columns, site: str | None = "site") -> TableSchema:
    return with_ranges(propose(columns, label="ill", site=site), columns)


def test_the_encrypted_table_is_that_of_all_rows_in_one_place(columns: Columns) -> None:
    schema = described(columns)
    table = table_of(columns, schema)
    found = simulated_table_one(table, schema, Asked(smallest=5, least=3))
    assert found.table == table_one(by_class(schema).counted(table.X, table.y), schema, 5)
    assert (found.sites, found.noise) == (("a", "b", "c"), None)


def test_with_a_budget_counts_are_near_and_not_the_same(columns: Columns) -> None:
    schema = described(columns)
    table = table_of(columns, schema)
    exact = simulated_table_one(table, schema, Asked(smallest=5, least=3)).table
    budget = Budget(epsilon=2.0, delta=1e-5)
    noised = simulated_table_one(table, schema, Asked(smallest=5, least=3, budget=budget))
    assert noised.table != exact
    median = [next(one.values[0] for one in t.lines if one.says == "median") for t in (exact, noised.table)]
    assert median[1] == pytest.approx(median[0], abs=8)
    assert noise_of(Budget(epsilon=0.5, delta=1e-5), schema) > noise_of(budget, schema) > 1


def test_too_few_sites_and_no_sites(columns: Columns, tmp_path: Path) -> None:
    """Nobody has paid for noise by then."""
    schema = described(columns)
    asked = Asked(smallest=5, least=4, budget=Budget(epsilon=2.0, delta=1e-5), ledgers=tmp_path / "ledgers")
    with pytest.raises(BadInput, match="of 3 sites: 4 are asked for in a sum"):
        simulated_table_one(table_of(columns, schema), schema, asked)
    assert not (tmp_path / "ledgers").exists()
    alone = schema.model_copy(update={"site": None, "ignored": ("site",)})
    with pytest.raises(BadInput, match="whose records are these"):
        simulated_table_one(table_of(columns, alone), alone, Asked(smallest=5, least=2))


def test_noise_is_paid_for_before_anything_is_counted(columns: Columns, tmp_path: Path) -> None:
    """The whole budget at once: a second table with the same ledgers is refused, and so is one of a smaller budget."""
    schema = described(columns)
    table, budget = table_of(columns, schema), Budget(epsilon=2.0, delta=1e-5)
    asked = Asked(smallest=5, least=3, budget=budget, ledgers=tmp_path / "ledgers")
    simulated_table_one(table, schema, asked)
    with FileStore(tmp_path / "ledgers" / "b.jsonl") as store:
        (event,) = store.load()
    assert (event.release, event.mechanism, event.steps) == ("table 1", "gaussian", 1)
    assert event.noise_multiplier * np.sqrt(len(schema.features)) == pytest.approx(noise_of(budget, schema))
    with pytest.raises(BudgetExhausted, match="'a' sits out"):
        simulated_table_one(table, schema, asked)
