"""Joint keys against shared ones and against ordinary TenSEAL code, in one run, taking turns.

Everything that a round needs is inside the figures: parsing, signatures of joint frames, tags, sealing, recombination.
Making a round's key needs no update yet and is reported apart; so is the committee's leg, in seconds and bytes.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sapefl_crypto.bench import (
    MEMORY_CLIENTS,
    REPEATS,
    Ordinary,
    Reals,
    Recipe,
    Say,
    Vectors,
    integer_weights,
    side_by_side,
    stage,
    timed,
    weighted_mean,
)  # fmt: skip
from sapefl_crypto.bench_report import ratios
from sapefl_crypto.cohort import CohortKey
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.aggregator import JointAggregator
from sapefl_crypto.joint.bench.report import JointReport, Leg, joint_targets
from sapefl_crypto.joint.bench.tree import climb, peak_memory
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.member import Member, MemoryLedger
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.opening import open_mean
from sapefl_crypto.joint.round_key import RoundKey, Upload
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.parameters import Parameters

FEWEST_CLIENTS = 3
MOST_MEMBERS = 31


def run(parameters: int, clients: int, tree_frames: int, say: Say) -> JointReport:
    """Everything `secure-sapefl bench crypto --keys joint` prints. ``say`` hears what is being measured."""
    if parameters < 1 or clients < FEWEST_CLIENTS:
        raise ValueRejected(f"Measure joint keys with a parameter and {FEWEST_CLIENTS} clients at least.")
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 0.02, (clients, parameters)).astype(np.float32)
    scores = rng.uniform(0.3, 1.0, clients)
    say(f"{clients} clients, {parameters} parameters: joint keys, shared keys, ordinary TenSEAL")
    joint = JointWay(vectors, scores)
    shared = Recipe(CohortKey.generate(Parameters.exact(max_clients=clients)), vectors, scores)
    ordinary = Ordinary(vectors[:REPEATS], scores[:REPEATS])
    before, _ = stage((joint,), lambda way, client: way.prepare(client))
    ours, theirs, naive = side_by_side(joint, shared, ordinary)
    say(f"peak memory of a server with {' and with '.join(map(str, MEMORY_CLIENTS))} clients")
    memory = {str(count): peak_memory(parameters, count) for count in MEMORY_CLIENTS}
    say(f"a tree of servers: {tree_frames} small frames of weight 1")
    return JointReport(
        parameters=parameters, clients=clients, plan=str(joint.about.plan), joint=ours, shared=theirs, ordinary=naive,
        before_update_seconds=before[joint], leg=joint.leg(), peak_memory_mb=memory,
        ratios_to_shared=ratios(ours, theirs), ratios_to_ordinary=ratios(ours, naive),
        targets=joint_targets(ours, theirs, naive, joint.leg(), memory), tree=climb(tree_frames),
    )  # fmt: skip


class JointWay:
    """A whole joint round, every site a member up to 31 of them, step by step."""

    def __init__(self, vectors: Vectors, scores: Reals) -> None:
        self.clients, self.length = vectors.shape
        self._vectors, self._scores = vectors, scores
        names = [f"site-{client}" for client in range(self.clients)]
        self._sites = [SiteIdentity.generate(name) for name in names]
        self._sealing = {name: SealingKey() for name in names}
        members = tuple(names[:MOST_MEMBERS])
        self.about = JointRound(
            plan=Parameters.joint(max_clients=self.clients),
            committee=Committee(members=members, threshold=-(-2 * len(members) // 3), tolerated=1),
            roster={site.public.name: site.public for site in self._sites}, study="benchmark", round_index=0,
            length=self.length,
        )  # fmt: skip
        self._root = TagRoot.generate()
        self._members = {site.public.name: self._member(site) for site in self._sites[:MOST_MEMBERS]}
        self._aggregator = JointAggregator(self.about)
        self._keys: list[RoundKey] = []
        self.uploads: list[Upload] = []
        self._seconds: dict[str, float] = {}
        self._answers: dict[str, bytes] = {}

    def _member(self, site: SiteIdentity) -> Member:
        sealing = self._sealing[site.public.name]
        return Member(self.about, identity=site, sealing=sealing, ledger=MemoryLedger())

    def prepare(self, client: int) -> None:
        """What needs no update yet: the key, its shares, sealed, and the masks."""
        members = {name: self._sealing[name].public for name in self.about.committee.members}
        self._keys.append(RoundKey(self.about, sender=self._sites[client].public.name, members=members))

    def encrypt(self, client: int) -> bytes:
        site = self._sites[client]
        upload = self._keys[client].encrypt(
            self._vectors[client], score=float(self._scores[client]), root=self._root, identity=site,
            sealing=self._sealing[site.public.name].public,
        )  # fmt: skip
        self.uploads.append(upload)
        return upload.frame

    def add(self, frame: bytes, client: int) -> None:
        self._aggregator.add(frame, sender=self._sites[client].public.name)

    def finish(self) -> bytes:
        """The sum, and the committee's leg: shares in, one claim signed, answers out."""
        aggregate = self._aggregator.finish()
        claimed = aggregate.claimed
        self._every_member("receive", self._receive)
        signatures = self._every_member("endorse", lambda name: self._members[name].endorse(claimed))
        self._certificate = Certificate(digest=claimed.digest, signatures=signatures)
        self._answers = self._every_member(
            "answer", lambda name: self._members[name].answer(claimed, self._certificate)
        )
        return aggregate.to_bytes()

    def _receive(self, name: str) -> None:
        for upload in self.uploads:
            self._members[name].receive(signed_part(upload.frame), upload.shares[name])

    def _every_member(self, what: str, work: Callable[[str], Any]) -> dict[str, Any]:
        took, results = timed(lambda: {name: work(name) for name in self._members}, time.process_time)
        self._seconds[what] = took / len(self._members)
        return results  # type: ignore[no-any-return]

    def decrypt(self, data: Any) -> Reals:
        """With one answer more than needed, as a site that checks would."""
        reader = self._sites[0].public.name
        opened = open_mean(
            self.about, JointAggregate.from_bytes(data), self._certificate,
            list(self._answers.values())[: self.about.committee.threshold + 1],
            reader=reader, sealing=self._sealing[reader], root=self._root,
        )  # fmt: skip
        assert opened.mean is not None
        return opened.mean.astype(np.float64)

    def exact(self) -> Reals:
        return weighted_mean(self._vectors, integer_weights(self._scores, self.about.plan.weight_bits))

    def leg(self) -> Leg:
        committee = self.about.committee
        return Leg(
            members=len(committee.members), threshold=committee.threshold, tolerated=committee.tolerated,
            share_bytes_up=sum(map(len, self.uploads[0].shares.values())),
            share_bytes_a_member=sum(len(upload.shares[committee.members[-1]]) for upload in self.uploads),
            manifest_bytes=len(signed_part(self.uploads[0].frame)),
            answer_bytes=len(self._answers[committee.members[0]]), certificate_bytes=len(self._certificate.to_bytes()),
            receive_seconds=self._seconds["receive"], endorse_seconds=self._seconds["endorse"],
            answer_seconds=self._seconds["answer"],
        )  # fmt: skip
