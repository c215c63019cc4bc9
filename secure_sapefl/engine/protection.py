"""How a simulated study is protected. Each kind is a type that knows its sites' codec and its server's adder.

What the server is given to make adders from is bound to public values alone, never to the protection itself: nothing
that can be reached from a `Server` leads to a key.
"""

import os
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from sapefl_crypto import CohortKey, Parameters
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.config import ProtectionName
from secure_sapefl.engine.workers import InlineProtector, ProcessProtector, Protector
from secure_sapefl.protocol.adders import encrypted_adder, plaintext_adder
from secure_sapefl.protocol.codec import Codec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.server import AdderFactory
from secure_sapefl.protocol.study import Study


class Protection(Protocol):
    """What sites do to an answer before it leaves, and what the server is given to add such answers up."""

    @property
    def params(self) -> Parameters: ...

    def codec(self) -> Codec: ...

    def adders(self, study: Study) -> AdderFactory: ...

    def protector(self) -> Protector: ...


@dataclass(frozen=True, slots=True)
class Plaintext:
    """For research speed: the server reads everything."""

    params: Parameters

    def codec(self) -> Codec:
        return PlaintextCodec(self.params)

    def adders(self, study: Study) -> AdderFactory:
        return partial(plaintext_adder, self.params, study)

    def protector(self) -> Protector:
        return InlineProtector(self.codec())


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

    def protector(self) -> Protector:
        return ProcessProtector(self.key, self.workers) if self.workers else InlineProtector(self.codec())


def exact_numbers(cohort: int) -> Parameters:
    """The plan of the sums of a simulated study, encrypted or not."""
    return Parameters.exact(max_clients=max(cohort, 2))


def protection_for(name: ProtectionName, algorithm: Algorithm, cohort: int, workers: int | None) -> Protection:
    """The protection asked for, never a weaker one. A method that sends nothing has nothing to protect."""
    params = exact_numbers(cohort)
    if name == "plaintext" or algorithm.homomorphic is Homomorphic.SILENT:
        return Plaintext(params)
    return Ckks(params, CohortKey.generate(params), _workers(workers))


def _workers(asked: int | None) -> int:
    return max(1, (os.cpu_count() or 1) // 2) if asked is None else asked
