"""What leaves of a site's test results, and when nothing does."""

from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.protocol.results import results_plan
from secure_sapefl.site.evaluation.judged import Judged
from secure_sapefl.site.evaluation.results import LeavingResults
from secure_sapefl.site.ledger.study import StudyLedger

MEASURES = {"accuracy": 0.5, "auc": 0.5, "brier": 0.5, "calibration_error": 0.5}


@pytest.fixture
def leaving(world: Callable[..., Any]) -> Callable[..., Any]:
    deployed = world(rounds=1, metrics="sum")
    deployed.start_all()

    def build(*, asked: bool = True) -> Any:
        ledger = StudyLedger(deployed.ledgers["north"], study="0" * 64, site="north", sent_before=frozenset())
        return LeavingResults(deployed.agents["north"].site, ledger, deployed.folder / "north", asked=asked), deployed

    return build


def judged(**changed: float) -> Judged:
    return Judged(round_index=0, rows=10, own=MEASURES | changed, common=None)


def test_the_same_bytes_leave_and_once_in_the_ledger(leaving: Callable[..., Any]) -> None:
    results, deployed = leaving()
    first = results.frame(deployed.agents["north"].state, judged())
    assert first is not None
    assert results.frame(deployed.agents["north"].state, judged(accuracy=0.9)) == first
    assert len(deployed.ledgers["north"].events("sent")) == 1
    assert results.total is None


def test_a_disk_without_room_lets_nothing_leave(leaving: Callable[..., Any]) -> None:
    results, deployed = leaving()
    deployed.ledgers["north"].full = True
    with pytest.raises(OSError, match="No space"):
        results.frame(deployed.agents["north"].state, judged())


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_leaves_unasked_or_undefined(leaving: Callable[..., Any], asked: bool) -> None:
    results, deployed = leaving(asked=asked)
    assert results.frame(deployed.agents["north"].state, None) is None
    assert results.frame(deployed.agents["north"].state, judged(auc=float("nan"))) is None
    if not asked:
        assert results.frame(deployed.agents["north"].state, judged()) is None
        results.take_in(b"whatever")
    assert not deployed.ledgers["north"]


def test_a_sum_that_is_none_is_refused_and_on_record(leaving: Callable[..., Any]) -> None:
    results, deployed = leaving()
    frame = results.frame(deployed.agents["north"].state, judged())
    plan = results_plan(deployed.terms.params, deployed.terms.blueprint.study, least=1)
    results.take_in(plan.added({"north": frame}))
    assert results.total is None
    (event,) = deployed.ledgers["north"].events("refused")
    assert event.message == "sum of test results"
