"""How a simulated study is protected. Each kind is a type that knows its sites' codec and its server's adder.

What the server is given to make adders from is bound to public values alone, never to the protection itself: nothing
that can be reached from a `Server` leads to a key.
"""

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from sapefl_crypto import CohortKey, Parameters
from sapefl_crypto.exact_plan import ExactPlan
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.config import ProtectionName
from secure_sapefl.engine.joint_sites import JointSites
from secure_sapefl.engine.ranks import Ranks
from secure_sapefl.engine.rounds import CommitteeRounds, PlainRounds, Rounds
from secure_sapefl.engine.workers import InlineProtector, ProcessProtector, Protector
from secure_sapefl.protocol.adders import encrypted_adder, plaintext_adder
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.codec import Codec, SiteCodec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.joint.adder import joint_adder
from secure_sapefl.protocol.joint.server import JointServer
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.server import AdderFactory, Models, Server
from secure_sapefl.protocol.study import Study


class Protection(Protocol):
    """What sites do to an answer before it leaves, and what the server is given to add such answers up."""

    @property
    def params(self) -> ExactPlan: ...

    def codec(self) -> SiteCodec: ...

    def adders(self, study: Study) -> AdderFactory: ...

    def rounds(self, study: Study, models: Models) -> Rounds:
        """A server that relays ``models``, and how its rounds begin and end."""

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        """At once, in this process."""

    def protector(self) -> Protector: ...


@dataclass(frozen=True, slots=True)
class Plaintext:
    """For research speed: the server reads everything. ``params`` is the plan of the protection whose twin this is."""

    params: ExactPlan

    def codec(self) -> Codec:
        return PlaintextCodec(self.params)

    def adders(self, study: Study) -> AdderFactory:
        return partial(plaintext_adder, self.params, study)

    def rounds(self, study: Study, models: Models) -> Rounds:
        return PlainRounds(Server(study, self.adders(study), models))

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        return protect(answer, self.codec(), study, round_index)

    def protector(self) -> Protector:
        return InlineProtector(self.protect)


@dataclass(frozen=True, slots=True)
class Ckks:
    """Updates encrypted, models sealed, under a key made for this run that the server's half never touches."""

    params: Parameters
    key: CohortKey
    workers: int

    def codec(self) -> Codec:
        return CkksCodec(self.key)

    def adders(self, study: Study) -> AdderFactory:
        return partial(encrypted_adder, self.params, study)

    def rounds(self, study: Study, models: Models) -> Rounds:
        return PlainRounds(Server(study, self.adders(study), models))

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        return protect(answer, self.codec(), study, round_index)

    def protector(self) -> Protector:
        return ProcessProtector(self.key, self.workers) if self.workers else InlineProtector(self.protect)


@dataclass(frozen=True, slots=True)
class Joint:
    """Updates encrypted under keys of one site and one round, models sealed for those who are given them. The server's
    half has neither, and a committee of sites opens nothing but sums."""

    params: JointPlan
    sites: JointSites

    def codec(self) -> SiteCodec:
        return self.sites.codec()

    def adders(self, study: Study) -> AdderFactory:  # noqa: ARG002 - the one its terms are of
        return partial(joint_adder, self.sites.terms)

    def rounds(self, study: Study, models: Models) -> Rounds:
        """A study that only relays has no sums, and needs no committee."""
        if study.relay_only:
            return PlainRounds(Server(study, self.adders(study), models))
        return CommitteeRounds(JointServer(self.sites.terms, models), self.sites)

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        return self.sites.protect(answer, study, round_index)

    def protector(self) -> Protector:
        """In this process: the keys of a round are not copied to another."""
        return InlineProtector(self.protect)


def exact_numbers(study: Study) -> Parameters | JointPlan:
    """The plan of the sums of a simulated study, encrypted or not."""
    cohort = max(study.cohort_size, 2)
    return Parameters.exact(max_clients=cohort) if study.keys == "shared" else Parameters.joint(max_clients=cohort)


def protection_for(name: ProtectionName, algorithm: Algorithm, study: Study, workers: int | None) -> Protection:
    """The protection asked for, never a weaker one. A method that sends nothing has nothing to protect."""
    return protected_by("plaintext" if algorithm.homomorphic is Homomorphic.SILENT else name, study, workers)


def protected_by(name: ProtectionName, study: Study, workers: int | None = 0) -> Protection:
    params = exact_numbers(study)
    if name == "plaintext":
        return Plaintext(params)
    if isinstance(params, JointPlan):
        return Joint(params, JointSites(study, params))
    return Ckks(params, CohortKey.generate(params), worker_count(workers))


def with_one_key(protection: Protection, ranks: Ranks) -> Protection:
    """The protection of the first rank, on every rank. A simulation owns all its sites, so it may copy their key."""
    if ranks.count == 1 or not isinstance(protection, Ckks):
        return protection
    return replace(protection, key=CohortKey.from_secret(ranks.from_first(protection.key.export_secret)))


def worker_count(asked: int | None) -> int:
    return max(1, (os.cpu_count() or 1) // 2) if asked is None else asked
