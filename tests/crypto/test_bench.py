import json
from dataclasses import asdict

import numpy as np
import pytest

from sapefl_crypto import CohortKey, Parameters, ValueRejected
from sapefl_crypto.bench import Ordinary, Recipe, run, share_error_of

VECTORS = np.random.default_rng(0).normal(0, 0.02, (3, 5000)).astype(np.float32)
SCORES = np.array([0.2, 0.5, 0.9])


@pytest.mark.parametrize("way", ["recipe", "ordinary"])
def test_both_ways_compute_the_weighted_mean(way: str) -> None:
    """A comparison is only worth something if the slow side does the same work, correctly."""
    made = Ordinary(VECTORS, SCORES) if way == "ordinary" else Recipe(_key(), VECTORS, SCORES)
    for client in range(3):
        made.add(made.encrypt(client), client)  # type: ignore[arg-type]
    mean = made.decrypt(made.finish())
    assert mean == pytest.approx(np.average(VECTORS.astype(np.float64), axis=0, weights=SCORES), abs=1e-5)
    assert mean == pytest.approx(made.exact(), abs=1e-6)


def _key() -> CohortKey:
    return CohortKey.generate(Parameters(max_clients=3))


def testshare_error_of_by_hand() -> None:
    """Weights round(0.3·4) = 1 and round(0.7·4) = 3: shares 0.25 and 0.75 for 0.3 and 0.7, off by 1/6 at most."""
    assert share_error_of(np.array([0.3, 0.7]), 2) == pytest.approx(1 / 6)


def test_weights_of_128_clients_keep_their_shares_to_two_thousandths() -> None:
    scores = np.random.default_rng(0).uniform(0.05, 1.0, 128)
    assert share_error_of(scores, Parameters(max_clients=128).weight_bits) <= 2e-3


def test_a_small_run_reports_everything_and_says_what_it_does() -> None:
    said: list[str] = []
    report = asdict(run(5000, 3, said.append))
    assert json.loads(json.dumps(report))["parameters"] == 5000
    assert len(said) == 3
    assert report["ours"]["upload_bytes_per_parameter"] < report["naive"]["upload_bytes_per_parameter"] / 5
    assert set(report["peak_memory_mb"]) == {"5", "50"}
    assert report["peak_memory_mb"]["50"] < report["peak_memory_mb"]["5"] + 10
    assert report["scaling"][0]["workers"] == 1


def test_too_little_to_measure_is_refused() -> None:
    with pytest.raises(ValueRejected, match="at least one"):
        run(0, 2, lambda _: None)
