"""More cores: SEAL's Python calls hold the interpreter lock, so only processes help, not threads.

Workers are started by a fork server, never forked from a process that may run torch's threads. The key reaches each
worker once, through the pipe that starts it: not by argument list, environment or disk. A vector travels by pickle;
that costs a hundredth of encrypting it, so shared memory would buy nothing.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_all_start_methods, get_context
from typing import Any, Self

import numpy as np

from sapefl_crypto.aggregate import Aggregate
from sapefl_crypto.aggregator import RunningSum
from sapefl_crypto.claims import ClaimPolicy
from sapefl_crypto.cohort import AnyVector, CohortKey, Vector
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.frames import Frame
from sapefl_crypto.packing import Chunks
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.processes import end_with_parent
from sapefl_crypto.secret import Guarded


class EncryptionPool(Guarded):
    """A cohort key in several processes: whole vectors in the background, or one vector split by chunks.

    with EncryptionPool(key, workers=4) as pool:
        future = pool.encrypt_async(vector, study="s", round_index=0, sender="a")   # train on meanwhile
        frame = future.result()
    """

    def __init__(self, key: CohortKey, workers: int) -> None:
        self._key = key
        self._workers = workers
        self._executor = _executor(workers, _receive_key, key.export_secret())

    def encrypt_async(self, vector: AnyVector, *, study: str, round_index: int, sender: str) -> Future[bytes]:
        """`CohortKey.encrypt` in a worker."""
        return self._executor.submit(_encrypt, vector, study=study, round_index=round_index, sender=sender)

    def encrypt_weighted_async(
        self, vector: AnyVector, *, score: float, max_score: float, study: str, round_index: int, sender: str
    ) -> Future[bytes]:
        """`CohortKey.encrypt_weighted` in a worker."""
        about = {"study": study, "round_index": round_index, "sender": sender}
        return self._executor.submit(_encrypt_weighted, vector, score=score, max_score=max_score, **about)

    def encrypt(self, vector: AnyVector, *, study: str, round_index: int, sender: str) -> bytes:
        """`CohortKey.encrypt` with the chunks of this one vector spread over all workers."""
        frame, chunks = self._key.draft(vector, study=study, round_index=round_index, sender=sender)
        jobs = [
            self._executor.submit(_encrypt_chunks, frame, chunks[part.start : part.stop], part.start)
            for part in _parts(len(chunks), self._workers)
        ]
        return replace(frame, payload=b"".join(job.result() for job in jobs)).to_bytes()

    def decrypt(
        self, aggregate: Aggregate, *, study: str, round_index: int, policy: ClaimPolicy | None = None
    ) -> Vector | None:
        """`CohortKey.decrypt` with the chunks spread over all workers; the same checks, the same errors."""
        policy = policy or ClaimPolicy()
        self._key.check_claim(aggregate, study=study, round_index=round_index, policy=policy)
        if aggregate.unchanged:
            return None
        size = self._key.params.sum_chunk_bytes
        jobs = [
            self._executor.submit(_decrypt_chunks, _payload_part(aggregate, part, size), part.start)
            for part in _parts(len(aggregate.payload) // size, self._workers)
        ]
        return self._key.unpack_mean(aggregate, np.concatenate([job.result() for job in jobs]), policy)

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ShardedSum:
    """A server's running sum in several processes, each holding its own range of chunks. No worker gets a key.

    Pass it to an aggregator: ``Aggregator(..., running=ShardedSum(params, workers=4))``.
    """

    def __init__(self, params: Parameters, workers: int) -> None:
        self._chunk_bytes = params.fresh_chunk_bytes
        self._shards = [_executor(1, _start_sum, params) for _ in range(workers)]

    def fold(self, payload: bytes, weight: int) -> None:
        """All shards check their part first; only when all of it is well-formed does any of it count."""
        parts = _parts(len(payload) // self._chunk_bytes, len(self._shards))
        pieces = [payload[part.start * self._chunk_bytes : part.stop * self._chunk_bytes] for part in parts]
        self._on_all(_read, pieces)
        self._on_all(_add_read, [weight] * len(pieces))

    def payload(self) -> bytes:
        jobs = [shard.submit(_payload) for shard in self._shards]
        return b"".join(job.result() for job in jobs)

    def close(self) -> None:
        for shard in self._shards:
            shard.shutdown(cancel_futures=True)

    def _on_all(self, work: Any, arguments: Sequence[Any]) -> None:
        jobs = [shard.submit(work, argument) for shard, argument in zip(self._shards, arguments, strict=False)]
        for job in jobs:
            job.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _executor(workers: int, initializer: Any, argument: Any) -> ProcessPoolExecutor:
    if workers < 1:
        raise ValueRejected(f"A pool of {workers} workers cannot work; choose at least 1.")
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    return ProcessPoolExecutor(workers, get_context(method), initializer, (argument,))


def _parts(count: int, workers: int) -> list[range]:
    """At most ``workers`` consecutive ranges over ``count`` chunks, none empty, sizes differing by one at most."""
    edges = [count * index // workers for index in range(workers + 1)]
    return [range(start, stop) for start, stop in pairwise(edges) if stop > start]


def _payload_part(aggregate: Aggregate, part: range, size: int) -> Aggregate:
    return replace(aggregate, payload=aggregate.payload[part.start * size : part.stop * size])


# In the workers. One process serves one key or one sum, so module state is that process's own.

_key: CohortKey
_sum: RunningSum


def _receive_key(secret: bytes) -> None:
    global _key
    end_with_parent()
    _key = CohortKey.from_secret(secret)


def _start_sum(params: Parameters) -> None:
    global _sum
    end_with_parent()
    _sum = RunningSum(params)


def _encrypt(vector: AnyVector, **about: Any) -> bytes:
    return _key.encrypt(vector, **about)


def _encrypt_weighted(vector: AnyVector, **about: Any) -> bytes:
    return _key.encrypt_weighted(vector, **about)


def _encrypt_chunks(frame: Frame, chunks: Chunks, first: int) -> bytes:
    return _key.encrypt_chunks(frame, chunks, first)


def _decrypt_chunks(aggregate: Aggregate, first: int) -> Chunks:
    return _key.decrypt_chunks(aggregate, first)


def _read(payload: bytes) -> None:
    _sum.read(payload)


def _add_read(weight: int) -> None:
    _sum.add_read(weight)


def _payload() -> bytes:
    return _sum.payload()
