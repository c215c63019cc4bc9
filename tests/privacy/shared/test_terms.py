from collections.abc import Callable

import pytest

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.privacy.ledger import MemoryStore
from secure_sapefl.privacy.randomness import SystemRandomness
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.form import releases
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.privacy.shared.terms import SharedTerms
from secure_sapefl.streams import Purpose


@pytest.fixture
def terms(plan: Callable[..., SharedPlan], numbers: Parameters) -> Callable[..., SharedTerms]:
    def make(secure: bool = False) -> SharedTerms:
        carriage = Carriage.for_plan(plan(), 50, numbers)
        return SharedTerms(
            study="s", plan=plan(), releases=releases(NoOptions(), 1), carriage=carriage, secure_noise=secure
        )

    return make


def test_a_round_is_one_event_with_the_site_s_own_share(terms: Callable[..., SharedTerms]) -> None:
    made = terms()
    events = made.site("north", 40, MemoryStore()).events(3)
    assert set(events) == {Purpose.SHARED_STEP}
    event = events[Purpose.SHARED_STEP]
    assert (event.steps, event.round_index, event.contributors, event.colluders) == (1, 3, 11, 1)
    assert event.noise_multiplier == made.plan.share
    assert event.in_a_sum().noise_multiplier == pytest.approx(made.plan.noise)


def test_a_site_with_one_record_takes_part(terms: Callable[..., SharedTerms]) -> None:
    assert terms().site("small", 1, MemoryStore()).objection is None


def test_secure_noise_comes_from_the_operating_system(terms: Callable[..., SharedTerms]) -> None:
    assert isinstance(terms(secure=True).secure_source(), SystemRandomness)
    assert terms(secure=True).generator == "operating system (os.urandom)"
    assert terms().secure_source() is None
    assert terms().generator == "keyed streams (simulation only)"


def test_a_summary_shows_both_numbers_with_m_and_t(terms: Callable[..., SharedTerms]) -> None:
    made = terms()
    sites = [made.site(name, 40, MemoryStore()) for name in ("north", "south")]
    sites[1].pay(0)
    told = made.summary(sites)
    assert told["epsilon_shared"] == max(told["epsilon_shared_per_client"]) == sites[1].ledger.epsilon_shared > 0
    assert told["epsilon_shared"] < sites[1].ledger.epsilon
    assert (told["shared"]["contributors"], told["shared"]["colluders"]) == (11, 1)
    assert told["epsilon_shared_budget"] == 2.0
