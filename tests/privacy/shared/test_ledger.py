from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger_file import FileStore, read_events
from secure_sapefl.privacy.shared.ledger import SharedLedger
from secure_sapefl.privacy.shared.plan import SharedPlan

Make = Callable[..., SharedPlan]


@pytest.fixture
def step(plan: Make, event: Callable[..., Event]) -> Callable[[int], Event]:
    share = event(noise_multiplier=plan().share, sample_rate=0.25, steps=1, contributors=11, colluders=1)
    return lambda round_index: replace(share, round_index=round_index)


def test_a_whole_study_fits_and_both_numbers_end_where_the_plan_says(plan: Make, step: Callable[[int], Event]) -> None:
    ledger = SharedLedger("north", plan(), "s")
    for round_index in range(20):
        ledger.charge([step(round_index)])
    assert ledger.epsilon_shared == pytest.approx(plan().epsilon_shared)
    assert ledger.epsilon == pytest.approx(plan().epsilon_max)
    assert ledger.budget.epsilon == pytest.approx(plan().epsilon_max)
    assert (ledger.tighter_epsilon_shared or 9) < ledger.epsilon_shared < ledger.replace_one_epsilon_shared


def test_what_is_not_planned_is_refused_by_the_smaller_number(plan: Make, step: Callable[[int], Event]) -> None:
    ledger = SharedLedger("north", plan(), "s")
    ledger.charge([replace(step(0), steps=20)])
    with pytest.raises(BudgetExhausted, match="for opened sums"):
        ledger.charge([replace(step(1), steps=2)])
    assert len(ledger.events) == 1


def test_a_share_smaller_than_planned_is_refused_by_the_larger_number(plan: Make, step: Callable[[int], Event]) -> None:
    """Behind more honest sites the sum would hold; the site itself would not."""
    ledger = SharedLedger("north", plan(), "s")
    small = replace(step(0), noise_multiplier=plan().share / 3, contributors=200, steps=20)
    with pytest.raises(BudgetExhausted, match=f"budget of {ledger.budget.epsilon:g}"):
        ledger.charge([small])


def test_what_was_spent_before_counts_in_both(plan: Make, event: Callable[..., Event], tmp_path: Path) -> None:
    with FileStore(tmp_path / "north.jsonl") as store:
        store.append([event(study="earlier")])
    with FileStore(tmp_path / "north.jsonl") as store:
        ledger = SharedLedger("north", plan(), "s", store)
        assert ledger.budget.epsilon > plan().epsilon_max
        assert ledger.epsilon_shared == ledger.epsilon > 0


def test_shares_come_back_from_disk(plan: Make, step: Callable[[int], Event], tmp_path: Path) -> None:
    with FileStore(tmp_path / "north.jsonl") as store:
        SharedLedger("north", plan(), "s", store).charge([step(0)])
    assert read_events(tmp_path / "north.jsonl") == [step(0)]
