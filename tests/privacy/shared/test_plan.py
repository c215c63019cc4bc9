import math
from collections.abc import Callable

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant

from secure_sapefl.privacy.accounting import ORDERS
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import SharedPlan

Make = Callable[..., SharedPlan]


def google(noise: float, rate: float, steps: int) -> float:
    event = SelfComposedDpEvent(PoissonSampledDpEvent(rate, GaussianDpEvent(noise)), steps)
    return float(RdpAccountant(list(ORDERS)).compose(event).get_epsilon(1e-5))


def test_both_numbers_are_what_google_finds(plan: Make) -> None:
    """The sum's noise alone meets the budget; nine honest sites have a third of it each."""
    made = plan()
    assert made.epsilon_shared == pytest.approx(google(made.noise, 0.25, 20), rel=0.01)
    assert made.epsilon_max == pytest.approx(google(made.noise / 3, 0.25, 20), rel=0.01)
    assert made.epsilon_max > 3 * made.epsilon_shared


def test_the_noise_is_the_least_that_meets_the_budget(plan: Make) -> None:
    made = plan()
    assert made.epsilon_shared <= 2
    assert google(0.99 * made.noise, 0.25, 20) > 2


@pytest.mark.parametrize(("parties", "honest"), [(Parties(11, 1), 9), (Parties(11, 4), 6), (Parties(6, 1), 4)])
def test_a_share_is_sized_by_who_is_left_when_colluders_and_the_reader_are_gone(
    plan: Make, parties: Parties, honest: int
) -> None:
    made = plan(parties=parties)
    assert made.share == pytest.approx(made.noise / math.sqrt(honest))


def test_a_site_pays_for_the_steps_it_takes_part_in(plan: Make) -> None:
    assert plan(charged=10).noise < plan().noise


def test_what_is_drawn_is_said_for_each_unit(plan: Make) -> None:
    assert "draws every record with probability 0.25, clips what it brings to 1, and adds" in plan().sentences()[0]
    assert "draws every person with" in plan(unit="person").sentences()[0]
    assert "a site sends its update, clipped to 1, with probability 0.25, and adds" in plan(unit="site").sentences()[0]


def test_sentences_and_json_name_both_numbers_with_m_and_t(plan: Make) -> None:
    made = plan()
    text = " ".join(made.sentences())
    assert f"epsilon_shared {made.epsilon_shared:.3g}" in text
    assert f"epsilon_max {made.epsilon_max:.3g}" in text
    assert "11 contributors or more (m), of whom 1 may collude (t)" in text
    told = made.to_json()
    assert (told["contributors"], told["colluders"], told["honest"]) == (11, 1, 9)
    assert told["epsilon_shared_planned"] == made.epsilon_shared
    assert told["epsilon_max_planned"] == made.epsilon_max
