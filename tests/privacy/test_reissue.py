"""A payment on record may be used after a crash; one that was never made may not."""

import pytest

from secure_sapefl.algorithms.releases import PrivateQuery, Releases
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, MemoryStore
from secure_sapefl.privacy.study import PrivateSite, Terms
from secure_sapefl.streams import Purpose


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


def test_equal_payments_are_counted_one_by_one() -> None:
    """Two questions with the same noise for the same message are two events that look alike."""
    ledger = Ledger("north", Budget(8.0, 1e-5))
    ledger.charge([event(0)])
    assert ledger.holds([event(0)])
    assert not ledger.holds([event(0), event(0)])
    with pytest.raises(RuntimeError, match="on record"):
        ledger.reissue([event(0), event(0)])
    ledger.charge([event(0)])
    assert len(ledger.reissue([event(0), event(0)])) == 2


def test_a_round_of_which_a_crash_left_half_on_record_is_not_on_record() -> None:
    asked = tuple(PrivateQuery(purpose, "theta_personal") for purpose in (Purpose.LABEL_SHARES, Purpose.START_ROWS))
    terms = Terms(
        study="s",
        budget=Budget(8.0, 1e-5),
        releases=Releases(queries=asked),
        rounds=4,
        participation=1.0,
        batch_size=8,
        clip=1.0,
        score_fraction=1.0,
        secure_noise=True,
    )
    site = PrivateSite("north", 100, terms, MemoryStore())
    first, second = site.events(0).values()
    assert first == second
    assert not site.has_record(0)
    site.ledger.charge([first])
    assert not site.has_record(0)
    site.ledger.charge([second])
    assert site.has_record(0)
    assert set(site.pay_with_record(0)) == {Purpose.LABEL_SHARES, Purpose.START_ROWS}
    assert not site.has_record(1)
