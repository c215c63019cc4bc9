"""Could joint keys hide scores too? Measured: the site weighs, the server adds, no weight bits are needed.

The site weighs with what hidden scores use under shared keys (`sapefl_crypto.hidden`). The server sees frames of weight
1 and no score.
"""

import numpy as np
import pytest

from sapefl_crypto import ClaimPolicy, Parameters, quantise_score
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.hidden import HiddenMean, hidden_mean, weighed

SITES, LENGTH = 14, 200


@pytest.fixture(scope="module")
def setting() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    updates, scores = rng.normal(0, 0.02, (SITES, LENGTH)).astype(np.float32), rng.uniform(0.05, 1.0, SITES)
    return updates, scores, np.average(updates.astype(np.float64), axis=0, weights=scores)


def hidden(make_cohort, updates: np.ndarray, scores: np.ndarray) -> HiddenMean | None:
    """A whole round in which no score is sent; the largest possible one is 1."""
    plan = Parameters.joint(max_clients=SITES, weight_bits=0)
    assert (plan.sigma, plan.grid_bits) == (6.4, 40)
    cohort = make_cohort(SITES, length=LENGTH + 2, plan=plan)
    frames = [weighed(update.astype(np.float64), share, plan) for update, share in zip(updates, scores, strict=True)]
    mean = cohort.run(np.stack(frames), [1.0] * SITES)
    return hidden_mean(mean.astype(np.float64) * SITES, SITES, plan)


def test_hidden_scores_give_a_finer_grid_and_exact_shares(make_cohort, setting) -> None:
    updates, scores, wanted = setting
    found = hidden(make_cohort, updates, scores)
    assert found is not None
    assert found.vector == pytest.approx(wanted, abs=1e-8)
    assert found.effective == pytest.approx(scores.sum() ** 2 / (scores**2).sum(), rel=1e-6)


def test_that_one_site_is_nearly_all_of_a_sum_shows_when_it_is_open_and_not_before(make_cohort, setting) -> None:
    """Members and server see fourteen frames of weight 1, whatever is in them: that is what hidden scores cost."""
    updates, _, _ = setting
    found = hidden(make_cohort, updates, np.array([1.0] + [0.001] * (SITES - 1)))
    assert found is not None
    assert np.abs(found.vector - updates[0]).max() < 0.02 * np.abs(updates).max(), "the first site's update"
    with pytest.raises(AggregateRejected, match=r"one site may hold up to 0\.98"):
        ClaimPolicy(max_share=0.9).check_mixing(SITES, found.effective)


def test_weights_of_the_server_round_shares(make_cohort, setting) -> None:
    """What README.md says of five weight bits: how far a share is off, and the mean of updates of width 0.02."""
    updates, scores, wanted = setting
    mean = make_cohort(SITES, length=LENGTH).run(updates, scores)
    weights = np.array([quantise_score(score, 1.0, 5) for score in scores])
    off = np.abs(weights / weights.sum() / (scores / scores.sum()) - 1)
    assert off.max() == pytest.approx(0.13, abs=0.005)
    assert np.abs(mean - wanted).max() == pytest.approx(2.9e-4, abs=1e-5)
