"""How servers of joint rounds behave with many frames: a tree of them, and the memory of one.

One random vector stands for all: a server without a key cannot tell, and its work and memory do not depend on it. Every
frame has a name, a manifest and a valid signature of its own.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, TypeVar

from sapefl_crypto.bench import high_water_mark
from sapefl_crypto.errors import CryptoError
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.aggregator import JointAggregator, LimbSum
from sapefl_crypto.joint.bench.report import Tree
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.frames import Manifest, digest, nonce_of
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.rows import ROW_BYTES
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.parameters import Parameters

R = TypeVar("R")

TREE_LENGTH: Final = 1000
A_REGION: Final = 1000
_COMMITTEE: Final = Committee(members=("0", "1", "2", "3"), threshold=3, tolerated=1)


def climb(frames: int) -> Tree:
    """Frames of weight 1 through regional servers of up to 1000 each and one above, in a process of its own."""
    return _alone(_climb, frames)


def peak_memory(length: int, clients: int) -> float:
    """MB at the highest point of a fresh process that adds up ``clients`` frames of this size, one at a time."""
    return _alone(_peak_of_adding, length, clients)


def _alone(work: Callable[..., R], *arguments: int) -> R:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


class Crowd(Mapping[str, SitePublicKeys]):
    """A roster of numbered sites, all with one pair of keys: what is measured does not depend on that."""

    def __init__(self, length: int, size: int) -> None:
        self._size = size
        self._site = SiteIdentity.generate("crowd")
        self.about = JointRound(
            plan=Parameters.joint(max_clients=size, weight_bits=0), committee=_COMMITTEE, roster=self,
            study="benchmark", round_index=0, length=length,
        )  # fmt: skip
        self.payload = os.urandom(self.about.chunks * ROW_BYTES)
        self._payload_digest = digest(self.payload)

    def __getitem__(self, name: str) -> SitePublicKeys:
        if not (name.isdigit() and int(name) < self._size):
            raise KeyError(name)
        return self._site.public

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self._size))

    def frame(self, name: str) -> bytes:
        shares = tuple(digest(f"{name} to {member}".encode()) for member in _COMMITTEE.members)
        manifest = Manifest(
            occasion=self.about.occasion, nonce=nonce_of(name, shares), score=1.0, weight=1,
            sealing=self._site.public.sealing, payload_digest=self._payload_digest, sender=name, share_digests=shares,
        )  # fmt: skip
        return manifest.signed(self._site) + self.payload


def _peak_of_adding(length: int, clients: int) -> float:
    crowd = Crowd(length, clients)
    aggregator = JointAggregator(crowd.about)
    for name in crowd:
        aggregator.add(crowd.frame(name))
    aggregator.finish().to_bytes()
    return high_water_mark()


def _climb(frames: int) -> Tree:
    crowd = Crowd(TREE_LENGTH, frames)
    top, seconds, seconds_top, partial_bytes = JointAggregator(crowd.about), 0.0, 0.0, 0
    for first in range(0, frames, A_REGION):
        region = JointAggregator(crowd.about)
        for name in map(str, range(first, min(first + A_REGION, frames))):
            frame = crowd.frame(name)
            start = time.process_time()
            region.add(frame)
            seconds += time.process_time() - start
        partial = region.finish().to_bytes()
        partial_bytes = max(partial_bytes, len(partial))
        start = time.process_time()
        top.add_partial(JointAggregate.from_bytes(partial))
        seconds_top += time.process_time() - start
    whole = top.finish()
    _check(crowd, whole, frames)
    return Tree(
        frames=frames, regions=-(-frames // A_REGION), plan=str(crowd.about.plan), seconds=seconds,
        seconds_top=seconds_top, claim_bytes=len(whole.claimed.to_bytes()), partial_bytes=partial_bytes,
        peak_memory_mb=high_water_mark(),
    )  # fmt: skip


def _check(crowd: Crowd, whole: JointAggregate, frames: int) -> None:
    """The tree's sum must be the bytes that one server makes of all frames."""
    flat = LimbSum(crowd.about.chunks)
    flat.fold(crowd.payload, frames)
    if whole.payload != flat.payload() or len(whole.claimed.claim) != frames:
        raise CryptoError("The tree's sum is not that of one server; do not trust this benchmark, report it.")
