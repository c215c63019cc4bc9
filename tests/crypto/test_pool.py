"""Several processes give what one gives, errors included."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import (
    AggregateRejected,
    Aggregator,
    CohortKey,
    EncryptionPool,
    FrameRejected,
    HiddenAggregator,
    Parameters,
    ShardedSum,
    ValueRejected,
)
from sapefl_crypto.frames import with_checksum
from sapefl_crypto.pool import _parts

ABOUT = {"study": "s", "round_index": 3}
VECTOR = np.linspace(-1, 1, 3 * 4088 + 5, dtype=np.float32)


@pytest.fixture(scope="module")
def pool(key: CohortKey) -> Iterator[EncryptionPool]:
    with EncryptionPool(key, workers=2) as pool:
        yield pool


@pytest.fixture(scope="module")
def shards(params: Parameters) -> Iterator[ShardedSum]:
    with ShardedSum(params, workers=2) as shards:
        yield shards


def aggregated(params: Parameters, *frames: bytes, running: ShardedSum | None = None) -> Aggregator:
    agg = Aggregator(params, **ABOUT, length=VECTOR.size, max_score=1.0, running=running)
    for frame in frames:
        agg.add(frame, 1.0)
    return agg


def test_work_in_the_background_is_the_same_work(key: CohortKey, pool: EncryptionPool) -> None:
    futures = [pool.encrypt_async(VECTOR, **ABOUT, sender=sender) for sender in "abc"]
    aggregate = aggregated(key.params, *(future.result() for future in futures)).finish()
    assert key.decrypt(aggregate, **ABOUT) == pytest.approx(VECTOR, abs=1e-7)


def test_one_vector_can_be_split_over_workers_both_ways(key: CohortKey, pool: EncryptionPool) -> None:
    aggregate = aggregated(key.params, pool.encrypt(VECTOR, **ABOUT, sender="a")).finish()
    split, whole = pool.decrypt(aggregate, **ABOUT), key.decrypt(aggregate, **ABOUT)
    assert split is not None
    assert np.array_equal(split, whole)


def test_workers_reject_what_the_key_rejects(key: CohortKey, pool: EncryptionPool) -> None:
    aggregate = aggregated(key.params, key.encrypt(VECTOR, **ABOUT, sender="a")).finish()
    size = key.params.sum_chunk_bytes
    swapped = replace(aggregate, payload=aggregate.payload[size:] + aggregate.payload[:size])
    with pytest.raises(AggregateRejected, match="tags"):
        pool.decrypt(swapped, **ABOUT)
    with pytest.raises(ValueRejected, match="reaches 9"):
        pool.encrypt_async(np.full(3, 9, np.float32), **ABOUT, sender="a").result()


def test_hidden_scores_and_unchanged_rounds_pass_through(key: CohortKey, pool: EncryptionPool) -> None:
    agg = HiddenAggregator(key.params, **ABOUT, length=VECTOR.size)
    assert pool.decrypt(agg.finish(), **ABOUT) is None
    agg.add(pool.encrypt_weighted_async(VECTOR, score=0.5, max_score=1.0, **ABOUT, sender="a").result())
    assert pool.decrypt(agg.finish(), **ABOUT) == pytest.approx(VECTOR, abs=1e-6)


def test_shards_add_up_to_the_same_bytes(key: CohortKey, shards: ShardedSum) -> None:
    """One bad frame in between leaves no trace in any shard."""
    first, second = (key.encrypt(VECTOR, **ABOUT, sender=sender) for sender in "ab")
    agg = aggregated(key.params, first, running=shards)
    broken = bytearray(second[:-4])
    size = key.params.fresh_chunk_bytes
    broken[-size:-64] = b"\xff" * (size - 64)
    with pytest.raises(FrameRejected):
        agg.add(with_checksum(bytes(broken)), 1.0)
    agg.add(second, 1.0)
    assert agg.finish() == aggregated(key.params, first, second).finish()


def test_parts_cover_every_chunk_once() -> None:
    for count in range(1, 12):
        for workers in range(1, 6):
            parts = _parts(count, workers)
            assert [chunk for part in parts for chunk in part] == list(range(count))
            assert len(parts) == min(count, workers)


def test_an_empty_pool_is_refused(key: CohortKey) -> None:
    with pytest.raises(ValueRejected):
        EncryptionPool(key, workers=0)
