"""Several processes give what one gives, errors included."""

from collections.abc import Iterator

import numpy as np
import pytest

from sapefl_crypto import Aggregator, CohortKey, HiddenAggregator, KeyPool, ValueRejected

ABOUT = {"study": "s", "round_index": 3}
VECTOR = np.linspace(-1, 1, 3 * 4088 + 5, dtype=np.float32)


@pytest.fixture(scope="module")
def pool(key: CohortKey) -> Iterator[KeyPool]:
    with KeyPool(key, workers=2) as pool:
        yield pool


def test_work_in_the_background_is_the_same_work(key: CohortKey, pool: KeyPool) -> None:
    agg = Aggregator(key.params, **ABOUT, length=VECTOR.size, max_score=1.0)
    for frame in [pool.submit(CohortKey.encrypt, VECTOR, **ABOUT, sender=sender) for sender in "abc"]:
        agg.add(frame.result(), 1.0)
    aggregate = agg.finish()
    found = pool.submit(CohortKey.decrypt, aggregate, **ABOUT).result()
    assert found is not None
    assert np.array_equal(found, key.decrypt(aggregate, **ABOUT))
    assert found == pytest.approx(VECTOR, abs=1e-7)


def test_hidden_scores_pass_through(key: CohortKey, pool: KeyPool) -> None:
    agg = HiddenAggregator(key.params, **ABOUT, length=VECTOR.size)
    about = {**ABOUT, "score": 0.5, "max_score": 1.0, "sender": "a"}
    agg.add(pool.submit(CohortKey.encrypt_weighted, VECTOR, **about).result())
    assert key.decrypt(agg.finish(), **ABOUT) == pytest.approx(VECTOR, abs=1e-6)


def test_workers_reject_what_the_key_rejects(pool: KeyPool) -> None:
    with pytest.raises(ValueRejected, match="reaches 9"):
        pool.submit(CohortKey.encrypt, np.full(3, 9, np.float32), **ABOUT, sender="a").result()


def test_an_empty_pool_is_refused_and_a_pool_does_not_say_its_key(key: CohortKey, pool: KeyPool) -> None:
    with pytest.raises(ValueRejected):
        KeyPool(key, workers=0)
    assert "withheld" in repr(pool)
