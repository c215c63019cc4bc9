"""A study of four sites with joint keys, all of them invited and all of them members, run message by message."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sapefl_crypto import Parameters
from secure_sapefl.engine.joint_sites import JointSites
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.joint.server import JointServer
from secure_sapefl.protocol.messages import RoundOutcome, RoundUpload
from secure_sapefl.protocol.study import Study

LENGTH = 20
STUDY = Study(
    name="s", sites=tuple("abcd"), participation=1.0, seed=1, parameters=LENGTH, max_score=2.0, keys="joint", rounds=5
)


@dataclass
class Round:
    """Server and sites in round 3; ``absent`` members never answer."""

    study: Study = STUDY
    absent: Collection[str] = ()
    sites: JointSites = field(init=False)
    server: JointServer = field(init=False)

    def __post_init__(self) -> None:
        self.sites = JointSites(self.study, Parameters.joint(max_clients=self.study.cohort_size))
        self.server = JointServer(self.sites.terms, {})
        self.server.begin_round(3)
        self.sites.begin(3)

    def ask(self, *members: str, change: Callable[[Deed], Deed] = lambda deed: deed) -> None:
        """The present stage's duty of these members, or of all that are there."""
        for member in members or self.server.legs.asked:
            duty = self.server.legs.duty_for(member)
            if duty is not None and member not in self.absent:
                self.server.legs.hear(change(self.sites.perform(member, duty)))

    def duty(self, member: str) -> Duty:
        duty = self.server.legs.duty_for(member)
        assert duty is not None
        return duty

    def announce(self) -> None:
        self.ask()
        assert self.server.press_on() is None
        for site in self.study.sites:
            self.sites.hear(self.server.invitation(site))

    def upload(self, site: str, value: float = 0.5, score: float = 1.0) -> RoundUpload:
        vector = np.full(LENGTH, value, np.float32)
        answer = Answer(site=site, similarity_score=score, update=vector, theta_personal=vector)
        return self.sites.protect(answer, self.study, 3)

    def send(self, **values: float) -> None:
        for site, value in (values or {"a": 0.25, "b": 0.5, "c": 0.75, "d": 1.0}).items():
            assert self.server.accept(self.upload(site, value))

    def press_on(self) -> RoundOutcome:
        """From the uploads to the end."""
        outcome = self.server.press_on()
        while outcome is None:
            self.ask()
            outcome = self.server.press_on()
        return outcome

    def run(self, **values: float) -> RoundOutcome:
        self.announce()
        self.send(**values)
        return self.press_on()

    def mean(self, outcome: RoundOutcome, reader: str = "a") -> np.ndarray | None:
        assert outcome.aggregate is not None
        return self.sites.codec([reader]).decrypt(outcome.aggregate, study="s", round_index=3)


@pytest.fixture
def make_round() -> Callable[..., Round]:
    return lambda absent=(), **changes: Round(replace(STUDY, **changes), absent)
