"""A study of four sites, three of them invited, run by hand in both protections."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sapefl_crypto import CohortKey, Parameters
from secure_sapefl.engine.protection import Ckks, Plaintext, Protection
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.codec import Codec, Vector
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.study import Study

PARAMS = Parameters(max_clients=4)


@dataclass(frozen=True)
class Bench:
    """One protection, with the sites' codec and servers that stand in an open round 3."""

    study: Study
    protection: Protection
    codec: Codec
    round_index: int = 3

    @property
    def invited(self) -> list[str]:
        return [self.study.sites[c] for c in self.study.cohort(self.round_index)]

    @property
    def uninvited(self) -> str:
        return next(site for site in self.study.sites if site not in self.invited)

    def server(self) -> Server:
        server = Server(self.study, self.protection.adders(self.study), {})
        server.open_round(self.round_index)
        return server

    def upload(
        self,
        site: str,
        value: float = 0.5,
        *,
        score: float = 1.0,
        round_index: int | None = None,
        length: int | None = None,
        study: str | None = None,
    ) -> RoundUpload:
        vector: Vector = np.full(length or self.study.parameters, value, np.float32)
        answer = Answer(site=site, similarity_score=score, update=vector, theta_personal=vector)
        when = self.round_index if round_index is None else round_index
        return protect(answer, self.codec, replace(self.study, name=study or self.study.name), when)


@pytest.fixture(scope="session")
def key() -> CohortKey:
    return CohortKey.generate(PARAMS)


@pytest.fixture(scope="session")
def bench_of(key: CohortKey) -> Callable[[str], Bench]:
    study = Study(name="s", sites=("a", "b", "c", "d"), participation=0.75, seed=1, parameters=20, max_score=2.0)

    def make(name: str) -> Bench:
        protection = Plaintext(PARAMS) if name == "plaintext" else Ckks(PARAMS, key, workers=0)
        return Bench(study, protection, protection.codec())

    return make


@pytest.fixture(params=["plaintext", "ckks"])
def bench(request: pytest.FixtureRequest, bench_of: Callable[[str], Bench]) -> Bench:
    return bench_of(request.param)
