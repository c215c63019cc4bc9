"""This recipe against the ordinary TenSEAL code, measured side by side in one run.

The ordinary code is what TenSEAL's tutorials show: N = 8192, primes [60, 40, 40, 60], public-key `ckks_vector`s, float
weights. Both sides aggregate as frames arrive. Times are CPU seconds, the best of several attempts that take turns,
because a busy machine can only make a step slower; only the scaling over processes is measured by the clock.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Protocol, TypedDict

import numpy as np
import numpy.typing as npt
import tenseal as ts

from sapefl_crypto.aggregate import Aggregate
from sapefl_crypto.aggregator import Aggregator
from sapefl_crypto.bench_report import Costs, Report, Scaling, ratios, targets
from sapefl_crypto.claims import quantise_score
from sapefl_crypto.cohort import CohortKey
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.frames import parse_frame
from sapefl_crypto.occasion import Kind, Occasion
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.pool import KeyPool

Vectors = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]
Say = Callable[[str], None]


class _About(TypedDict):
    study: str
    round_index: int


REPEATS: Final = 5
MEMORY_CLIENTS: Final = (5, 50)
_ABOUT: Final = _About(study="benchmark", round_index=0)
_NAIVE_SLOTS: Final = 4096


def run(parameters: int, clients: int, say: Say) -> Report:
    """Everything `secure-sapefl bench crypto` prints. ``say`` hears what is being measured."""
    if parameters < 1 or clients < 1:
        raise ValueRejected(f"Measure at least one parameter and one site, not {parameters} and {clients}.")
    params, rng = Parameters(max_clients=clients), np.random.default_rng(0)
    key = CohortKey.generate(params)
    vectors = rng.normal(0, 0.02, (clients, parameters)).astype(np.float32)
    scores = rng.uniform(0.05, 1.0, clients)
    say(f"{clients} sites, {parameters} parameters: encrypting, adding and decrypting both ways")
    ours, naive = side_by_side(Recipe(key, vectors, scores), Ordinary(vectors[:REPEATS], scores[:REPEATS]))
    say(f"peak memory of a server with {' and with '.join(map(str, MEMORY_CLIENTS))} sites")
    memory = {str(count): peak_memory(vectors[0], count) for count in MEMORY_CLIENTS}
    say("several processes")
    scaling = tuple(_scaling(vectors[0], workers) for workers in _worker_counts())
    share_error = share_error_of(scores, params.weight_bits)
    return Report(
        parameters=parameters, clients=clients, security_bits=params.security_bits, promised_error=params.max_error,
        ours=ours, naive=naive, ratios=ratios(ours, naive), share_error=share_error, peak_memory_mb=memory,
        scaling=scaling, targets=targets(ours, naive, clients, share_error),
    )  # fmt: skip


class Recipe:
    """This package, step by step."""

    def __init__(self, key: CohortKey, vectors: Vectors, scores: Reals) -> None:
        self.clients, self.length = vectors.shape
        self._key, self._vectors, self._scores = key, vectors, scores
        self._aggregator = Aggregator(key.params, **_ABOUT, length=self.length, max_score=1.0)

    def encrypt(self, client: int) -> bytes:
        return self._key.encrypt(self._vectors[client], **_ABOUT, sender=str(client))

    def add(self, frame: bytes, client: int) -> None:
        self._aggregator.add(frame, float(self._scores[client]))

    def finish(self) -> bytes:
        return self._aggregator.finish().to_bytes()

    def decrypt(self, data: Any) -> Reals:
        mean = self._key.decrypt(Aggregate.from_bytes(data), **_ABOUT)
        assert mean is not None
        return mean.astype(np.float64)

    def exact(self) -> Reals:
        return weighted_mean(self._vectors, integer_weights(self._scores, self._key.params.weight_bits))


class Ordinary:
    """The same work as TenSEAL's tutorials do it. The server gets the context without its secret key."""

    def __init__(self, vectors: Vectors, scores: Reals) -> None:
        self.clients, self.length = vectors.shape
        self._vectors, self._scores = vectors, scores
        self._site = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
        self._site.global_scale = 2.0**40
        self._server = ts.context_from(self._site.serialize(save_secret_key=False))
        self._sum: list[Any] = []

    def encrypt(self, client: int) -> list[bytes]:
        pieces = np.split(self._vectors[client], range(_NAIVE_SLOTS, self.length, _NAIVE_SLOTS))
        return [ts.ckks_vector(self._site, piece.tolist()).serialize() for piece in pieces]

    def add(self, pieces: list[bytes], client: int) -> None:
        weighed = [ts.ckks_vector_from(self._server, piece) * float(self._scores[client]) for piece in pieces]
        self._sum = [total + piece for total, piece in zip(self._sum, weighed, strict=True)] if self._sum else weighed

    def finish(self) -> list[bytes]:
        return [total.serialize() for total in self._sum]

    def decrypt(self, pieces: Any) -> Reals:
        decrypted = [ts.ckks_vector_from(self._site, piece).decrypt() for piece in pieces]
        mean: Reals = np.concatenate(decrypted) / self._scores.sum()
        return mean

    def exact(self) -> Reals:
        return weighted_mean(self._vectors, self._scores)


class Way(Protocol):
    """One way to the weighted mean of vectors that are encrypted on their way."""

    clients: int
    length: int

    def encrypt(self, client: int) -> Any: ...
    def add(self, message: Any, client: int) -> None: ...
    def finish(self) -> Any: ...
    def decrypt(self, data: Any) -> Reals: ...
    def exact(self) -> Reals: ...


def side_by_side(*ways: Way) -> tuple[Costs, ...]:
    encrypt, frames = stage(ways, lambda way, client: way.encrypt(client))
    add, _ = stage(ways, lambda way, client: way.add(frames[way][client], client))
    sums = {way: way.finish() for way in ways}
    decrypt, means = stage(ways, lambda way, _: way.decrypt(sums[way]), REPEATS)
    return tuple(
        Costs(
            encrypt_seconds=encrypt[way],
            upload_bytes_per_parameter=size_of(frames[way][0]) / way.length,
            aggregate_seconds_per_client=add[way],
            decrypt_seconds=decrypt[way],
            download_bytes_per_parameter=size_of(sums[way]) / way.length,
            max_error=float(np.abs(means[way][0] - way.exact()).max()),
        )
        for way in ways
    )


def stage(
    ways: Sequence[Any], work: Callable[[Any, int], Any], rounds: int | None = None
) -> tuple[dict[Any, float], dict[Any, list[Any]]]:
    """``work`` for every site of every way, taking turns: the best time of the first REPEATS, and all results."""
    seconds: dict[Any, list[float]] = {way: [] for way in ways}
    results: dict[Any, list[Any]] = {way: [] for way in ways}
    for index in range(rounds or max(way.clients for way in ways)):
        for way in ways:
            if index < (rounds or way.clients):
                took, result = timed(partial(work, way, index), time.process_time)
                seconds[way].append(took)
                results[way].append(result)
    return {way: min(seconds[way][:REPEATS]) for way in ways}, results


def peak_memory(vector: npt.NDArray[np.float32], clients: int) -> float:
    """MB at the highest point of a fresh process that aggregates ``clients`` frames of this size, one at a time."""
    params = Parameters(max_clients=max(MEMORY_CLIENTS))
    frame = CohortKey.generate(params).encrypt(vector, **_ABOUT, sender="0")
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_peak_of_aggregating, params, frame, vector.size, clients).result()


def _peak_of_aggregating(params: Parameters, data: bytes, length: int, clients: int) -> float:
    """One frame under many names: a server without a key cannot tell, and its memory does not care."""
    frame = parse_frame(data, params, Occasion.bound_to(params, Kind.WEIGHTED, **_ABOUT, length=length))
    aggregator = Aggregator(params, **_ABOUT, length=length, max_score=1.0)
    for client in range(clients):
        aggregator.add(replace(frame, sender=str(client)).to_bytes(), 1.0)
    aggregator.finish()
    return high_water_mark()


def high_water_mark() -> float:
    """Not getrusage: on Linux its maximum survives exec and would count the parent that started this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def _worker_counts() -> list[int]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [workers for workers in (1, 2, 4, 8, 16) if workers <= cores]


def _scaling(vector: npt.NDArray[np.float32], workers: int) -> Scaling:
    """Each process encrypts whole vectors, as a simulation has them do while it trains."""
    key = CohortKey.generate(Parameters(max_clients=REPEATS))
    with KeyPool(key, workers) as pool:

        def encrypt(vectors: int) -> None:
            names = [str(client) for client in range(vectors)]
            for frame in [pool.submit(CohortKey.encrypt, vector, **_ABOUT, sender=name) for name in names]:
                frame.result()

        encrypt(4 * workers)  # until every process is there
        seconds = min(timed(partial(encrypt, workers))[0] for _ in range(REPEATS))
    return Scaling(workers=workers, encrypt_seconds=seconds / workers)


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    start = clock()
    result = work()
    return clock() - start, result


def weighted_mean(vectors: Vectors, weights: Reals) -> Reals:
    return np.asarray(weights / weights.sum() @ vectors.astype(np.float64), np.float64)


def integer_weights(scores: Reals, weight_bits: int) -> Reals:
    return np.array([quantise_score(float(score), 1.0, weight_bits) for score in scores], np.float64)


def share_error_of(scores: Reals, weight_bits: int) -> float:
    """How far the integer weights' shares are from the exact ones, relative to each."""
    weights = integer_weights(scores, weight_bits)
    return float(np.abs(weights / weights.sum() / (scores / scores.sum()) - 1).max())


def size_of(message: bytes | list[bytes]) -> int:
    return len(message) if isinstance(message, bytes) else sum(map(len, message))
