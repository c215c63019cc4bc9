"""Whole joint rounds, from keys to mean, as the parties would run them: what the tests of this folder look at."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenseal.sealapi as sealapi

from sapefl_crypto import Parameters, SiteIdentity
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.aggregator import JointAggregator
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, Integers, added, centred, negated
from sapefl_crypto.joint.frames import parse_frame, signed_part
from sapefl_crypto.joint.member import Member, MemoryLedger
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.opening import Opened, open_mean
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.recombining import recombine
from sapefl_crypto.joint.ring import Multiplier
from sapefl_crypto.joint.round_key import RoundKey, Upload, whole_numbers
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.packing import unpack
from sapefl_crypto.seal import HEADER_BYTES, Coefficients, array_header, header, loaded, ring_of

Vectors = npt.NDArray[np.float32]


@dataclass(kw_only=True)
class Cohort:
    """Sites named "a", "b", …, all of them members; every secret that any of them holds."""

    about: JointRound
    identities: dict[str, SiteIdentity]
    policy: JointPolicy
    root: TagRoot = field(default_factory=TagRoot.generate)

    def __post_init__(self) -> None:
        self.sealing = {name: SealingKey() for name in self.identities}
        self.members = {name: self.member(name) for name in self.about.committee.members}
        self.uploads: dict[str, Upload] = {}

    @property
    def names(self) -> list[str]:
        return list(self.identities)

    @property
    def member_keys(self) -> dict[str, bytes]:
        return {name: self.sealing[name].public for name in self.about.committee.members}

    def member(self, name: str, ledger: MemoryLedger | None = None) -> Member:
        return Member(
            self.about,
            identity=self.identities[name],
            sealing=self.sealing[name],
            ledger=ledger or MemoryLedger(),
            policy=self.policy,
        )

    def upload(self, name: str, vector: npt.NDArray[np.float32], score: float) -> Upload:
        key = RoundKey(self.about, sender=name, members=self.member_keys)
        return self.sign(name, key, vector, score)

    def sign(self, name: str, key: RoundKey, vector: npt.NDArray[np.float32], score: float) -> Upload:
        return key.encrypt(
            vector, score=score, root=self.root, identity=self.identities[name], sealing=self.sealing[name].public
        )

    def send(self, vectors: Vectors, scores: Sequence[float]) -> None:
        """Every site uploads, every member gets its shares."""
        for name, vector, score in zip(self.names, vectors, scores, strict=False):
            self.uploads[name] = self.upload(name, vector, score)
            self.deliver(name)

    def deliver(self, name: str) -> None:
        upload = self.uploads[name]
        for member in self.about.committee.members:
            self.members[member].receive(signed_part(upload.frame), upload.shares[member])

    def aggregate(self, names: Sequence[str] | None = None) -> JointAggregate:
        aggregator = JointAggregator(self.about)
        for name in names or self.uploads:
            aggregator.add(self.uploads[name].frame, sender=name)
        return aggregator.finish()

    def certify(self, aggregate: JointAggregate, members: Sequence[str] | None = None) -> Certificate:
        signers = members or self.about.committee.members
        signatures = {name: self.members[name].endorse(aggregate.claimed) for name in signers}
        return Certificate(digest=aggregate.claimed.digest, signatures=signatures)

    def answers(
        self, aggregate: JointAggregate, certificate: Certificate, members: Sequence[str] | None = None
    ) -> list[bytes]:
        return [
            self.members[name].answer(aggregate.claimed, certificate)
            for name in members or self.about.committee.members
        ]

    def open(
        self, aggregate: JointAggregate, certificate: Certificate | None, answers: Sequence[bytes], reader: str = "a"
    ) -> Opened:
        return open_mean(
            self.about, aggregate, certificate, answers,
            reader=reader, sealing=self.sealing[reader], root=self.root, policy=self.policy,
        )  # fmt: skip

    def run(self, vectors: Vectors, scores: Sequence[float]) -> npt.NDArray[np.float32]:
        self.send(vectors, scores)
        aggregate = self.aggregate()
        certificate = self.certify(aggregate)
        mean = self.open(aggregate, certificate, self.answers(aggregate, certificate)).mean
        assert mean is not None
        return mean


MakeCohort = Callable[..., Cohort]
IDENTITIES = {name: SiteIdentity.generate(name) for name in "abcdefghijklmnopqrst"}


@pytest.fixture(scope="session")
def make_cohort() -> MakeCohort:
    def make(
        sites: int = 4,
        *,
        length: int = 100,
        threshold: int | None = None,
        tolerated: int = 1,
        plan: JointPlan | None = None,
        members: int | None = None,
        policy: JointPolicy | None = None,
        **changed: object,
    ) -> Cohort:
        identities = {name: IDENTITIES[name] for name in list(IDENTITIES)[:sites]}
        committee = Committee(
            members=tuple(identities)[: members or sites],
            threshold=threshold or -(-2 * (members or sites) // 3),
            tolerated=tolerated,
        )
        about = JointRound(
            plan=plan or Parameters.joint(max_clients=sites),
            committee=committee,
            roster={name: identity.public for name, identity in identities.items()},
            study="s",
            round_index=3,
            length=length,
        )
        return Cohort(about=replace(about, **changed), identities=identities, policy=policy or JointPolicy())  # type: ignore[arg-type]

    return make


class Attacker:
    """What anybody can compute, with SEAL and numpy, from frames and from whichever secrets an attack has come by."""

    ring = ring_of(RING_DEGREE, 1.0)
    evaluator = sealapi.Evaluator(ring.context)

    def numbers(self, cohort: Cohort, name: str) -> Coefficients:
        return self.rows(parse_frame(cohort.uploads[name].frame, cohort.about).payload)

    def rows(self, payload: bytes | memoryview) -> Coefficients:
        return np.stack([unpack(payload[at : at + 30720]) for at in range(0, len(payload), 30720)])

    def read(self, about: JointRound, numbers: Coefficients, key: Coefficients) -> Integers:
        """Whole numbers of a frame or sum under a key, right or wrong."""
        products = np.concatenate(list(Multiplier(key).products(about.occasion.public_seed, about.chunks)))
        values, step = centred(added(numbers, products)), about.plan.step_bits
        return (values + (1 << step - 1) >> step)[:, : about.plan.data_slots]

    def part_read(self, cohort: Cohort, name: str, key: Coefficients, vector: npt.NDArray[np.float32]) -> float:
        """The part of a site's values that its frame shows under ``key``; values of zero do not count."""
        truth = whole_numbers(vector, cohort.about)
        found = self.read(cohort.about, self.numbers(cohort, name), key)
        return float(np.mean(found[truth != 0] == truth[truth != 0]))

    def opened_key(self, cohort: Cohort, reader: str, members: Sequence[str] | None = None) -> Coefficients:
        """S of an honest round over all uploads, as a site of the cohort comes to know it."""
        aggregate = cohort.aggregate()
        certificate = cohort.certify(aggregate)
        answers = [
            read_answer(answer, cohort.about, aggregate.claimed, sealing=cohort.sealing[reader], reader=reader)
            for answer in cohort.answers(aggregate, certificate, members)
        ]
        return recombine(cohort.about, aggregate.claimed, answers).numbers

    def to_ntt(self, coefficients: Coefficients) -> Coefficients:
        """By SEAL, beside random numbers, so that zstd finds nothing to compress."""
        mask, other = np.random.default_rng().integers(0, PRIME, (2, RING_DEGREE), np.uint64)
        masked, alone = (self._transformed(row, other, 0) for row in (added(coefficients, mask), mask))
        return added(masked, negated(alone))

    def from_ntt(self, numbers: Coefficients) -> Coefficients:
        mask, other = np.random.default_rng().integers(0, PRIME, (2, RING_DEGREE), np.uint64)
        masked, alone = (self._transformed(row, other, 1) for row in (added(numbers, mask), mask))
        return added(masked, negated(alone))

    def load(self, polynomials: Coefficients, ntt_form: int) -> Any:
        cipher = sealapi.Ciphertext()
        shape = struct.pack("<4QBQQQdQ", *self.ring.parms_id, ntt_form, len(polynomials), RING_DEGREE, 1, 1.0, 1)
        body = shape + array_header(polynomials.size) + polynomials.tobytes()
        loaded(cipher.load, self.ring.context, header(HEADER_BYTES + len(body)), body)
        return cipher

    def _transformed(self, first: Coefficients, second: Coefficients, ntt_form: int) -> Coefficients:
        cipher = self.load(np.stack((first, second)), ntt_form)
        (self.evaluator.transform_from_ntt_inplace if ntt_form else self.evaluator.transform_to_ntt_inplace)(cipher)
        return self.ring.save_sum(cipher)[:RING_DEGREE]

    def divided(self, above: Coefficients, below: Coefficients) -> Coefficients:
        """Division in the ring, both sides in NTT form: number by number."""
        pairs = zip(above.tolist(), below.tolist(), strict=True)
        return np.array([a * pow(b, -1, PRIME) % PRIME for a, b in pairs], np.uint64)


@pytest.fixture(scope="session")
def attacker() -> Attacker:
    return Attacker()


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    return np.random.default_rng(0).normal(0, 0.02, (15, 100)).astype(np.float32)
