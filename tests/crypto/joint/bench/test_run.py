import numpy as np
import pytest

from sapefl_crypto import ValueRejected
from sapefl_crypto.joint.bench.run import JointWay, run

VECTORS = np.random.default_rng(0).normal(0, 0.02, (4, 5000)).astype(np.float32)
SCORES = np.array([0.4, 0.5, 0.9, 1.0])


def test_the_measured_way_computes_the_weighted_mean() -> None:
    way = JointWay(VECTORS, SCORES)
    for client in range(4):
        way.prepare(client)
        way.add(way.encrypt(client), client)
    mean = way.decrypt(way.finish())
    assert mean == pytest.approx(way.exact(), abs=1e-8)
    assert mean == pytest.approx(np.average(VECTORS.astype(np.float64), axis=0, weights=SCORES), abs=5e-3)
    assert (way.leg().members, way.leg().threshold) == (4, 3)
    assert way.leg().share_bytes_up == 2 * (30735 + 48) + 2 * 80


def test_too_little_to_measure_is_refused() -> None:
    with pytest.raises(ValueRejected, match="3 clients"):
        run(10, 2, 1, lambda _: None)
