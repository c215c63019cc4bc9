"""One ledger, two budgets: a study spends its own, and all studies together the owner's."""

from pathlib import Path

import pytest

from secure_sapefl.privacy.accounting import composition, rdp_epsilon
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.privacy_store import StudyStore

DELTA = 1e-5


def event(study: str, round_index: int = 0) -> Event:
    return Event(
        mechanism="dp-sgd", release="update", noise_multiplier=1.0, sample_rate=0.1, steps=50,
        round_index=round_index, study=study,
    )  # fmt: skip


def epsilon(count: int) -> float:
    return rdp_epsilon(composition([event("x")] * count), DELTA)


def test_a_new_study_starts_with_its_own_budget_whole(tmp_path: Path) -> None:
    budget = Budget(epsilon(2) * 1.01, DELTA)
    for study in ("one", "two"):
        store = StudyStore(FileStore(tmp_path / "p.jsonl"), study, Budget(epsilon(4) * 1.01, DELTA))
        ledger = Ledger("a", budget, store)
        assert ledger.epsilon == 0
        ledger.charge([event(study, 0)])
        ledger.charge([event(study, 1)])
        with pytest.raises(BudgetExhausted, match="of its privacy budget"):
            ledger.charge([event(study, 2)])
        ledger.close()


def test_all_studies_together_stop_at_the_lifetime_budget(tmp_path: Path) -> None:
    path, study_budget = tmp_path / "p.jsonl", Budget(100, DELTA)
    first = StudyStore(FileStore(path), "one", Budget(epsilon(3) * 1.01, DELTA))
    Ledger("a", study_budget, first).charge([event("one"), event("one", 1)])
    first.close()
    second = StudyStore(FileStore(path), "two", Budget(epsilon(3) * 1.01, DELTA))
    ledger = Ledger("a", study_budget, second)
    assert second.lifetime_epsilon() == epsilon(2)
    ledger.charge([event("two")])
    with pytest.raises(BudgetExhausted, match="lifetime budget"):
        ledger.charge([event("two", 1)])
    assert ledger.events == (event("two"),)
    second.close()
    with FileStore(path) as store:
        assert len(store.load()) == 3
