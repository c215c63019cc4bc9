"""Replayed ledgers: what a run spent, release by release, and silence where the replay does not fit the record."""

import math

import pytest

from secure_sapefl.config import Config
from secure_sapefl.report.budget import budget_of
from secure_sapefl.report.spending import by_release, replay

ROWS = {"Anna": 100, "Bert": 200, "Cleo": 300}
TERMS = {"dp_epsilon": 4.0, "dp_delta": 1e-5, "participation": 0.67, "local_epochs": 1}


@pytest.fixture(scope="module")
def spent():
    """What a study on these terms records, after two rounds of two or three sites each."""
    return replay(Config(clients=3, rounds=2, **TERMS), ROWS, 2).summary()


@pytest.fixture
def private_run(make_run, spent):
    def make(**changes):
        return make_run(settings=TERMS, client_rows=list(ROWS.values()), privacy={**spent, **changes})

    return make


def test_each_release_costs_less_than_all_and_all_less_than_the_sum(private_run):
    run = private_run()
    for site, spent in zip(by_release(run), run.epsilons, strict=True):
        assert site.keys() == {"update", "theta_personal", "similarity_score"}
        assert max(site.values()) < spent < sum(site.values())


def test_the_page_names_what_was_released(private_run):
    view = budget_of(private_run())
    assert view.releases == ("Update", "Personal model", "Score")
    assert [site.site for site in view.sites] == ["Anna", "Bert", "Cleo"]
    assert all(cost is not None for site in view.sites for cost in site.alone)


def test_a_record_the_replay_does_not_reach_is_shown_without_releases(private_run, spent):
    more = [epsilon * 1.01 for epsilon in spent["epsilon_per_client"]]
    run = private_run(epsilon_per_client=more)
    assert by_release(run) is None
    view = budget_of(run)
    assert view.releases == ()
    assert [site.spent for site in view.sites] == more


def test_a_run_without_a_budget_has_none(make_run):
    assert by_release(make_run(client_rows=[1, 2, 3])) is None


def test_a_method_that_releases_nothing_spends_nothing():
    privacy = replay(Config(method="local", clients=3, **TERMS), ROWS, 2)
    assert [site.ledger.events for site in privacy.sites] == [(), (), ()]


def test_more_rounds_spend_more():
    summaries = [replay(Config(clients=3, rounds=2, **TERMS), ROWS, rounds).summary() for rounds in (1, 2)]
    first, second = (summary["epsilon_max"] for summary in summaries)
    assert 0 < first < second <= 4
    assert math.isfinite(second)


def test_a_run_with_shared_noise_is_replayed_too(make_run):
    """Its plan stands in its configuration; both numbers come out as they were recorded."""
    chosen = {"dp_noise": "shared", "dp_contributors": 3, "dp_rate": 0.5, "dp_lr": 1.0}
    terms = {**TERMS, **chosen, "participation": 1.0}
    told = replay(Config(clients=3, rounds=2, **terms), ROWS, 2).summary()
    assert told["epsilon_shared"] == pytest.approx(told["shared"]["epsilon_shared_planned"])
    run = make_run(settings=terms, client_rows=list(ROWS.values()), privacy=told)
    assert [site.keys() for site in by_release(run)] == [{"update"}] * 3
