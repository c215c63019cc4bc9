"""Known answers, and three accountants that must agree: Opacus' RDP and PRV, and Google's dp-accounting."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import PRVAccountant, RDPAccountant
from scipy.optimize import brentq
from scipy.stats import norm

from secure_sapefl.privacy.accounting import (
    ORDERS,
    Composition,
    Running,
    composition,
    composition_in_sums,
    noise_in_sums,
    prv_epsilon,
    rdp_epsilon,
    renyi_divergence,
    tightest,
)
from secure_sapefl.privacy.events import Event

DELTA = 1e-5
ONE_GAUSSIAN = [(4.0, 1.0, 1)]
A_STUDY = [(1.1, 0.05, 400)]
TWO_TRAININGS_AND_SCORES = [(1.4, 0.08, 600), (9.0, 1.0, 10)]
LISTS = [ONE_GAUSSIAN, A_STUDY, TWO_TRAININGS_AND_SCORES]
KNOWN = [1.0125506277526435, 6.18172806223201, 8.86813824353963]  # agreed with dp-accounting when they were pinned
NAMES = ["one Gaussian", "a study", "trainings and scores"]


def prv(spent: Composition) -> float:
    epsilon = prv_epsilon(spent, DELTA)
    assert epsilon is not None
    return epsilon


def google(spent: Composition) -> dp_accounting.DpEvent:
    steps = (
        dp_accounting.SelfComposedDpEvent(
            dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), count
        )
        for noise, rate, count in spent
    )
    return dp_accounting.ComposedDpEvent(list(steps))


@pytest.mark.parametrize("spent", LISTS, ids=NAMES)
def test_rdp_agrees_with_google_within_one_percent(spent: Composition) -> None:
    theirs = RdpAccountant(list(ORDERS)).compose(google(spent)).get_epsilon(DELTA)
    assert rdp_epsilon(spent, DELTA) == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("spent", LISTS, ids=NAMES)
def test_prv_agrees_with_google_s_privacy_loss_distributions_within_one_percent(spent: Composition) -> None:
    theirs = PLDAccountant().compose(google(spent)).get_epsilon(DELTA)
    assert theirs * 0.999 <= prv(spent) <= theirs * 1.01


@pytest.mark.parametrize("spent", LISTS, ids=NAMES)
def test_our_orders_lose_at_most_one_percent_to_opacus_own(spent: Composition) -> None:
    accountant = RDPAccountant()
    accountant.history = list(spent)
    assert rdp_epsilon(spent, DELTA) == pytest.approx(accountant.get_epsilon(DELTA), rel=0.01)


@pytest.mark.parametrize(("spent", "known"), list(zip(LISTS, KNOWN, strict=True)), ids=NAMES)
def test_known_answers(spent: Composition, known: float) -> None:
    assert rdp_epsilon(spent, DELTA) == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("spent", LISTS, ids=NAMES)
def test_prv_is_never_above_rdp(spent: Composition) -> None:
    assert prv(spent) <= rdp_epsilon(spent, DELTA)


def test_one_gaussian_has_an_exact_answer() -> None:
    """delta(eps) = Phi(1/2s - eps s) - e^eps Phi(-1/2s - eps s) (Balle and Wang 2018, arXiv:1805.06530, Theorem 8)."""
    s = 4.0
    exact = brentq(
        lambda e: norm.cdf(1 / (2 * s) - e * s) - math.exp(e) * norm.cdf(-1 / (2 * s) - e * s) - DELTA, 0.0, 10.0
    )
    assert exact <= prv(ONE_GAUSSIAN) <= exact * 1.01
    assert exact < rdp_epsilon(ONE_GAUSSIAN, DELTA) < exact * 1.15


def test_one_gaussian_by_rdp_is_a_formula() -> None:
    """RDP of order a is a / 2s^2; epsilon is its conversion at the best order (Balle et al. 2020, Theorem 21)."""
    by_hand = (a / 32 + math.log((a - 1) / a) - (math.log(DELTA) + math.log(a)) / (a - 1) for a in ORDERS)
    assert rdp_epsilon(ONE_GAUSSIAN, DELTA) == pytest.approx(min(by_hand), rel=1e-12)


@pytest.mark.parametrize("delta", [1e-8, 1e-5, 0.02])
@pytest.mark.parametrize("spent", [*LISTS, [(0.6, 0.3, 20)], [(60.0, 0.01, 3)]], ids=[*NAMES, "much", "little"])
def test_orders_left_out_are_never_the_best_one(spent: Composition, delta: float) -> None:
    """Opacus over all orders says the same to the last bit, and most series at broken orders are not needed for it."""
    accountant = RDPAccountant()
    accountant.history = spent
    asked: list[float] = []

    def divergence(order: float) -> float:
        return asked.append(order) or renyi_divergence(spent, order)

    with warnings.catch_warnings(action="ignore"):
        epsilon, order = accountant.get_privacy_spent(delta=delta, alphas=list(ORDERS))
    assert tightest(divergence, delta) == (max(0.0, epsilon), order)
    assert len(asked) == len(set(asked)) < len(ORDERS)


def test_a_grid_found_sooner_is_opacus_grid() -> None:
    accountant = PRVAccountant()
    accountant.history = [(2.0, 0.2, 30), (9.0, 0.5, 10)]
    error = rdp_epsilon(accountant.history, DELTA) / 200
    with warnings.catch_warnings(action="ignore"):
        assert prv(accountant.history) == accountant.get_epsilon(DELTA, eps_error=error)


def test_nothing_spent_is_nothing() -> None:
    assert rdp_epsilon([], DELTA) == prv_epsilon([], DELTA) == 0.0


def test_a_very_large_and_a_very_small_spending_are_still_bounds_without_a_warning() -> None:
    assert rdp_epsilon([(0.3, 0.5, 1000)], DELTA) > 1000
    assert 0 < rdp_epsilon([(1000.0, 0.01, 1)], DELTA) < 0.05


def test_prv_says_where_its_range_ends() -> None:
    assert prv_epsilon([(0.5, 0.5, 1000)], DELTA) is None
    assert prv_epsilon([(2.0, 0.5, 2)], 1e-300) is None
    assert prv_epsilon([(2.0, 0.5, 2)], 0.999) is None


def test_events_compose_in_any_order_and_in_any_portions(event: Callable[..., Event]) -> None:
    def spent(events: Sequence[Event]) -> float:
        return rdp_epsilon(composition(events), DELTA)

    whole = [event(steps=30), event(noise_multiplier=7.0, sample_rate=1.0, steps=2)]
    parts = [event(noise_multiplier=7.0, sample_rate=1.0, steps=1, round_index=4), event(steps=10, study="other")]
    parts += [event(steps=20), event(noise_multiplier=7.0, sample_rate=1.0, steps=1)]
    assert spent(whole) == spent(parts) == spent(parts[::-1])
    assert spent(whole) > spent(whole[:1])


def steps_under_shared_noise(event: Callable[..., Event]) -> list[Event]:
    """Two hundred steps of noise 2.2 in the sum of ten honest sites, and a study with noise of its own."""
    share = event(noise_multiplier=2.2 / math.sqrt(10), sample_rate=0.064, steps=1, contributors=13, colluders=2)
    return [*(replace(share, round_index=t) for t in range(200)), event()]


def test_shared_noise_has_two_epsilons_and_google_finds_both(event: Callable[..., Event]) -> None:
    """In the sum noise 2.2 a step, alone a tenth of the variance; events without shared noise count the same."""
    events = steps_under_shared_noise(event)
    for spent, noise in ((composition_in_sums(events), 2.2), (composition(events), 2.2 / math.sqrt(10))):
        theirs = google([(noise, 0.064, 200), (1.3, 0.05, 100)])
        found = RdpAccountant(list(ORDERS)).compose(theirs).get_epsilon(DELTA)
        assert rdp_epsilon(spent, DELTA) == pytest.approx(found, rel=0.01)


def test_whoever_trusts_fewer_others_counts_shares_as_if_all_conspired(event: Callable[..., Event]) -> None:
    events = steps_under_shared_noise(event)
    assert composition_in_sums(events, 10) == composition_in_sums(events)
    assert composition_in_sums(events, 11) == composition(events)


def test_a_composition_that_grows_is_that_of_all_its_events_and_keeps_none_that_is_only_asked_about() -> None:
    def step(noise: float, round_index: int) -> Event:
        return Event(
            mechanism="dp-sgd",
            release="update",
            noise_multiplier=noise,
            sample_rate=0.1,
            steps=3,
            round_index=round_index,
            study="s",
            contributors=9,
            colluders=1,
        )

    events = [step(2.0, 0), step(1.0, 1), step(2.0, 2)]
    growing = Running(noise_in_sums, events[:1])
    assert growing.with_more(events[1:]) == composition_in_sums(events)
    assert growing.with_more() == composition_in_sums(events[:1])
    growing.add(events[1:])
    assert growing.with_more() == composition_in_sums(reversed(events))
