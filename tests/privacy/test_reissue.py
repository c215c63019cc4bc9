"""A payment on record may be used after a crash; one that was never made may not."""

import pytest

from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger


def event(round_index: int) -> Event:
    return Event(
        mechanism="dp-sgd",
        release="update",
        noise_multiplier=2.0,
        sample_rate=0.1,
        steps=10,
        round_index=round_index,
        study="s",
    )


def test_a_recorded_payment_is_good_for_one_release_again_and_costs_nothing_more() -> None:
    ledger = Ledger("north", Budget(8.0, 1e-5))
    ledger.charge([event(0)])
    spent = ledger.epsilon
    (paid,) = ledger.reissue([event(0)])
    assert paid.spend() == event(0)
    assert ledger.epsilon == spent
    with pytest.raises(RuntimeError, match="one event, one release"):
        paid.spend()


def test_what_is_not_on_record_cannot_be_reissued() -> None:
    ledger = Ledger("north", Budget(8.0, 1e-5))
    ledger.charge([event(0)])
    for events in ([event(1)], [event(0), event(1)]):
        with pytest.raises(RuntimeError, match="on record"):
            ledger.reissue(events)
