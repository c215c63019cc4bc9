"""Could joint keys hide scores too? Measured: the site weighs, the server adds, no weight bits are needed.

With a = score / max_score a site sends a · x, a and a². The server sees frames of weight 1 and no score.
"""

import numpy as np
import pytest

from sapefl_crypto import Parameters, quantise_score

SITES, LENGTH = 14, 200


@pytest.fixture(scope="module")
def setting() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    updates, scores = rng.normal(0, 0.02, (SITES, LENGTH)).astype(np.float32), rng.uniform(0.05, 1.0, SITES)
    return updates, scores, np.average(updates.astype(np.float64), axis=0, weights=scores)


def test_hidden_scores_give_a_finer_grid_and_exact_shares(make_cohort, setting) -> None:
    updates, scores, wanted = setting
    plan = Parameters.joint(max_clients=SITES, weight_bits=0)
    assert (plan.sigma, plan.grid_bits) == (6.4, 40)
    cohort = make_cohort(SITES, length=LENGTH + 2, plan=plan)
    weighed = np.hstack((updates * scores[:, None], scores[:, None], scores[:, None] ** 2)).astype(np.float32)
    mean = cohort.run(weighed, [1.0] * SITES).astype(np.float64)
    assert mean[:LENGTH] / mean[LENGTH] == pytest.approx(wanted, abs=1e-8)
    effective = SITES * mean[LENGTH] ** 2 / mean[LENGTH + 1]
    assert effective == pytest.approx(scores.sum() ** 2 / (scores**2).sum(), rel=1e-6)


def test_weights_of_the_server_round_shares(make_cohort, setting) -> None:
    """What README.md says of five weight bits: how far a share is off, and the mean of updates of width 0.02."""
    updates, scores, wanted = setting
    mean = make_cohort(SITES, length=LENGTH).run(updates, scores)
    weights = np.array([quantise_score(score, 1.0, 5) for score in scores])
    off = np.abs(weights / weights.sum() / (scores / scores.sum()) - 1)
    assert off.max() == pytest.approx(0.13, abs=0.005)
    assert np.abs(mean - wanted).max() == pytest.approx(2.9e-4, abs=1e-5)
