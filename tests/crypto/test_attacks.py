"""A server without a key tries to pass off something else as the sum it claims, with SEAL's own operations.

Every attack gets what a server has (the frames of this round and the last, the public ring, the honest aggregate) and
returns what it would send to the sites. All of them must be rejected, every time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi

from sapefl_crypto import Aggregate, AggregateRejected, Aggregator, Claim, CohortKey, Parameters
from sapefl_crypto.aggregator import read_chunks
from sapefl_crypto.frames import parse_frame
from sapefl_crypto.occasion import Kind
from sapefl_crypto.packing import pack, unpack
from sapefl_crypto.seal import Ring, ring_of
from sapefl_crypto.tags import TagMaker

LENGTH = 4088 + 60  # two chunks, the second nearly empty
CLIENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """All a cheating server knows."""

    params: Parameters
    frames: dict[str, bytes]
    retry: bytes  # a second frame of sender "0", after a crash
    last_round: Aggregate
    honest: Aggregate
    rng: np.random.Generator

    @property
    def ring(self) -> Ring:
        return ring_of(self.params.ring_degree, self.params.scale)

    def chunks(self, frame: bytes) -> list[Any]:
        payload = parse_frame(frame, self.params, self.honest.occasion).payload
        return [self.ring.load_fresh(*chunk) for chunk in read_chunks(self.params, payload)]

    def weighed(self, sender: str, weight: int) -> list[Any]:
        chunks = self.chunks(self.frames[sender])
        for chunk in chunks:
            self.ring.weigh(chunk, self.ring.weight(weight))
        return chunks

    def added(self, ciphers: Iterable[list[Any]]) -> list[Any]:
        first, *others = ciphers
        for other in others:
            for total, chunk in zip(first, other, strict=True):
                self.ring.add(total, chunk)
        return first

    def sum_with(self, weights: dict[str, int]) -> list[Any]:
        return self.added(self.weighed(sender, weight) for sender, weight in weights.items())

    def finished(self) -> list[Any]:
        size = self.params.sum_chunk_bytes
        payload = self.honest.payload
        return [self.ring.load_sum(unpack(payload[at : at + size])) for at in range(0, len(payload), size)]

    def sent(self, chunks: list[Any]) -> Aggregate:
        return replace(self.honest, payload=b"".join(pack(self.ring.save_sum(chunk)) for chunk in chunks))

    def someone(self) -> str:
        return str(self.rng.integers(CLIENTS))


def dropping(server: Server) -> Aggregate:
    victim = server.someone()
    return server.sent(server.sum_with({s: w for s, w in server.honest.weights.items() if s != victim}))


def doubling(server: Server) -> Aggregate:
    victim = server.someone()
    return server.sent(server.sum_with({s: w * (1 + (s == victim)) for s, w in server.honest.weights.items()}))


def reweighting(server: Server) -> Aggregate:
    """By the smallest step there is."""
    victim = server.someone()
    return server.sent(server.sum_with({s: w + (s == victim) for s, w in server.honest.weights.items()}))


def swapping_chunks(server: Server) -> Aggregate:
    first, second = server.finished()
    return server.sent([second, first])


def repeating_a_chunk(server: Server) -> Aggregate:
    first, _ = server.finished()
    return server.sent([first, first])


def substituting(server: Server) -> Aggregate:
    """One client's ciphertext as "the aggregate": the sum of one, claimed as the sum of all."""
    return server.sent(server.sum_with({server.someone(): server.honest.claim.total}))


def substituting_one_for_another(server: Server) -> Aggregate:
    weights = server.honest.weights
    return server.sent(server.sum_with({"0": weights["0"] + weights["1"], "2": weights["2"], "3": weights["3"]}))


def replaying(server: Server) -> Aggregate:
    return replace(server.last_round, occasion=server.honest.occasion)


def replaying_with_new_names(server: Server) -> Aggregate:
    return replace(server.honest, payload=server.last_round.payload)


def adding_a_known_vector(server: Server) -> Aggregate:
    """A thousandth in one random place of the mean, nothing anywhere else."""
    chunks, half = server.finished(), server.params.ring_degree // 2
    slots = np.zeros(half, complex)
    slots[server.rng.integers(half - 8)] = 1e-3 * server.honest.claim.total * server.rng.choice([1, -1, 1j, -1j])
    sealapi.Evaluator(server.ring.context).add_plain_inplace(chunks[0], server.ring.encode(slots))
    return server.sent(chunks)


def masking(server: Server) -> Aggregate:
    """Blank every client but one in the data slots and leave all of them in the slots that hold tags."""
    kept, evaluator = server.someone(), sealapi.Evaluator(server.ring.context)
    half = server.params.ring_degree // 2
    only_tags = np.zeros(half, complex)
    only_tags[-8:] = 1
    parts = []
    for sender, weight in server.honest.weights.items():
        plain, chunks = sealapi.Plaintext(), server.chunks(server.frames[sender])
        mask = np.ones(half, complex) if sender == kept else only_tags
        encoder = sealapi.CKKSEncoder(server.ring.context)
        encoder.encode((mask * weight).tolist(), server.ring.parms_id, 1.0, plain)
        for chunk in chunks:
            evaluator.multiply_plain_inplace(chunk, plain)
        parts.append(chunks)
    return server.sent(server.added(parts))


def mixing_a_retry(server: Server) -> Aggregate:
    """Two frames of one sender share data but not offsets: 2·first − second must not pass for first."""
    evaluator, weights = sealapi.Evaluator(server.ring.context), server.honest.weights
    chunks = server.finished()
    for total, first, second in zip(
        chunks, server.chunks(server.frames["0"]), server.chunks(server.retry), strict=True
    ):
        evaluator.sub_inplace(first, second)
        server.ring.weigh(first, server.ring.weight(weights["0"]))
        server.ring.add(total, first)
    return server.sent(chunks)


def scaling(server: Server) -> Aggregate:
    chunks = server.finished()
    for chunk in chunks:
        server.ring.weigh(chunk, server.ring.weight(2))
    return server.sent(chunks)


def scaling_the_claim(server: Server) -> Aggregate:
    return _claiming(server, lambda part: replace(part, weight=max(1, part.weight // 2)))


def renaming(server: Server) -> Aggregate:
    return _claiming(server, lambda part: replace(part, sender=part.sender + "x"))


def changing_a_nonce(server: Server) -> Aggregate:
    return _claiming(server, lambda part: replace(part, nonce=server.rng.bytes(16)))


def _claiming(server: Server, change: Callable[[Any], Any]) -> Aggregate:
    parts = list(server.honest.claim)
    victim = server.rng.integers(CLIENTS)
    parts[victim] = change(parts[victim])
    return replace(server.honest, claim=Claim(tuple(parts)))


def shortening(server: Server) -> Aggregate:
    return replace(server.honest, occasion=replace(server.honest.occasion, length=LENGTH - 1))


def passing_for_hidden(server: Server) -> Aggregate:
    occasion = replace(server.honest.occasion, kind=Kind.HIDDEN, length=LENGTH - 2)
    parts = tuple(replace(part, weight=1) for part in server.honest.claim)
    return replace(server.honest, occasion=occasion, claim=Claim(parts))


def a_message_in_the_clear(server: Server) -> Aggregate:
    """c1 = 0 decrypts to whatever the server likes without any key; it cannot know the tags that belong to it."""
    degree = server.params.ring_degree
    clear = pack(np.zeros(2 * degree, np.uint64))
    return replace(server.honest, payload=clear * 2)


def noise(server: Server) -> Aggregate:
    numbers = server.rng.integers(0, 2**59, 4 * server.params.ring_degree, np.uint64)
    return replace(server.honest, payload=b"".join(pack(half) for half in np.split(numbers, 2)))


ATTACKS = [
    dropping, doubling, reweighting, swapping_chunks, repeating_a_chunk, substituting, substituting_one_for_another,
    replaying, replaying_with_new_names, adding_a_known_vector, masking, mixing_a_retry, scaling, scaling_the_claim,
    renaming, changing_a_nonce, shortening, passing_for_hidden, a_message_in_the_clear, noise,
]  # fmt: skip


def one_round(key: CohortKey, rng: np.random.Generator, round_index: int) -> tuple[dict[str, bytes], Aggregate]:
    about = {"study": "attacked", "round_index": round_index}
    vectors = rng.normal(0, 0.02, (CLIENTS, LENGTH)).astype(np.float32)
    frames = {str(c): key.encrypt(vector, **about, sender=str(c)) for c, vector in enumerate(vectors)}
    aggregator = Aggregator(key.params, **about, length=LENGTH, max_score=1.0)
    for frame in frames.values():
        aggregator.add(frame, float(rng.uniform(0.05, 0.9)))
    return frames, aggregator.finish()


def setting(key: CohortKey, seed: int) -> Server:
    rng = np.random.default_rng(seed)
    _, last = one_round(key, rng, 6)
    frames, honest = one_round(key, rng, 7)
    again = rng.normal(0, 0.02, LENGTH).astype(np.float32)
    retry = key.encrypt(again, study="attacked", round_index=7, sender="0")
    return Server(params=key.params, frames=frames, retry=retry, last_round=last, honest=honest, rng=rng)


def accepted(key: CohortKey, aggregate: Aggregate) -> bool:
    """As a site receives it: over the wire, then decrypted."""
    try:
        received = Aggregate.from_bytes(aggregate.to_bytes())
        key.decrypt(received, study="attacked", round_index=7)
    except AggregateRejected:
        return False
    return True


def passed(key: CohortKey, seeds: Iterable[int]) -> list[tuple[str, int]]:
    """Every attack that got through, after making sure that the honest aggregate does."""
    through = []
    for seed in seeds:
        server = setting(key, seed)
        assert accepted(key, server.honest), seed
        assert accepted(key, server.sent(server.sum_with(server.honest.weights))), seed
        through += [(attack.__name__, seed) for attack in ATTACKS if accepted(key, attack(server))]
    return through


def test_no_attack_passes(key: CohortKey) -> None:
    assert passed(key, range(12)) == []


@pytest.mark.slow
def test_no_attack_passes_in_a_thousand_trials(key: CohortKey) -> None:
    assert passed(key, range(1000, 2000)) == []


def test_without_tags_most_attacks_would_pass(key: CohortKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: it is the tags that stop them, not an accident of the format."""
    monkeypatch.setattr("sapefl_crypto.tags.TagMaker.tolerance", lambda self, shares: float("inf"))
    through = {name for name, _ in passed(key, [1])}
    assert through >= {"dropping", "doubling", "substituting", "masking", "adding_a_known_vector", "mixing_a_retry"}


def test_honest_residuals_keep_their_distance_from_the_tolerance(
    key: CohortKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the tolerance must still do: honest sums are not rejected by bad luck."""
    whole = TagMaker.tolerance
    monkeypatch.setattr(TagMaker, "tolerance", lambda self, shares: whole(self, shares) / 2)
    assert all(accepted(key, setting(key, seed).honest) for seed in range(20))
