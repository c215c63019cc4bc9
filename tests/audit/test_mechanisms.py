"""The bound from repetitions, against Gaussian mechanisms whose epsilon is known."""

import numpy as np
import pytest
import torch

from secure_sapefl.audit.mechanisms import distinguished, set_apart
from secure_sapefl.privacy.accounting import rdp_epsilon

DELTA = 1e-5


def samples(noise: float, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return noise * rng.normal(size=trials), 1 + noise * rng.normal(size=trials)


@pytest.mark.parametrize("noise", [0.3, 1.0, 5.0])
def test_a_sound_mechanism_stays_below_its_epsilon(noise: float) -> None:
    claimed = rdp_epsilon([(noise, 1.0, 1)], DELTA)
    bounds = [distinguished(*samples(noise, 400, seed), DELTA) for seed in range(30)]
    assert np.mean(np.array(bounds) > claimed) <= 0.05
    assert noise > 1 or np.median(bounds) > 0.5


def test_no_noise_is_noticed_in_either_direction() -> None:
    without, with_one = np.zeros(200), np.ones(200)
    assert distinguished(without, with_one, DELTA) == pytest.approx(distinguished(with_one, without, DELTA))
    assert distinguished(without, with_one, DELTA) > 3


def test_equal_samples_show_nothing() -> None:
    assert distinguished(np.zeros(100), np.zeros(100), DELTA) == 0


def test_a_canary_is_looked_for_where_the_others_do_not_pull() -> None:
    others = torch.tensor([[1.0, 0, 0], [0.6, 0, 0], [-1.0, 0, 0]])
    found = set_apart(torch.tensor([3.0, 2.0, 0]), others, clip=1.0)
    assert found[1:].tolist() == [2, 0]
    assert found[0] == pytest.approx(3 * (1 / 3) / (1 / 3 + 2.36))  # lambda / (lambda + |others|^2) of it is left
    everywhere = set_apart(torch.ones(3), torch.eye(3), clip=1.0)
    assert everywhere.norm() > 0.1, "a direction is left where others pull everywhere"
