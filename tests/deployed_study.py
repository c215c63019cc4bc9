"""A whole deployed study in one process: real keys, real files, real code on both sides, and a list for a network."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import CohortKey, SiteIdentity
from sapefl_crypto.joint.tags import TagRoot
from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.data import ClientData, Federation
from secure_sapefl.data.federation import Rows
from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.privacy.study import StudyPrivacy
from secure_sapefl.protocol.joint.site import JointHolder
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.joint.answer import AnswerFile
from secure_sapefl.site.joint.claims import SignedClaims
from secure_sapefl.site.joint.consents import SiteNonces
from secure_sapefl.site.keys import JointKeys, SharedKey, SiteKeys, joint_policy
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.policy import TEMPLATE, Policy
from secure_sapefl.site.privacy_store import StudyStore
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.site.trainer.training import OwnProcess, Training
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.counting import any_terms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.study.terms import StudyTerms

FEATURES = 4
NAMES = ("north", "east", "south", "west")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Notes(list[SiteEvent]):
    """A ledger that remembers; ``full`` is a disk without room."""

    full = False

    def append(self, event: SiteEvent) -> None:  # type: ignore[override]
        if self.full:
            raise OSError(28, "No space left on device")
        super().append(event)

    def events(self, kind: str) -> list[SiteEvent]:
        return [event for event in self if event.kind == kind]


@dataclass
class World:
    """One coordinator and its sites. ``post`` carries a message to a site's agent and its answer back."""

    folder: Path
    file: StudyFile
    terms: StudyTerms
    coordinator_identity: SiteIdentity
    identities: dict[str, SiteIdentity]
    key: CohortKey
    rows: dict[str, ClientData]
    policy: Policy
    root: TagRoot = field(default_factory=TagRoot.generate)  # with joint keys
    clock: Clock = field(default_factory=Clock)
    ledgers: dict[str, Notes] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    stores: dict[str, FileStore] = field(default_factory=dict)
    training: Callable[..., Training] = OwnProcess
    state: ServerState | None = None
    server: Coordinator | None = None

    def start_server(self) -> Coordinator:
        if self.state is not None:
            self.state.__exit__()
        self.state = ServerState(self.folder / "server", self.file.digest)
        self.server = Coordinator(self.terms, self.coordinator_identity, self.state, self.clock)
        return self.server

    def start_agent(self, name: str, **policy: Any) -> Agent:
        """As after a crash, if it ran before: only what is on disk is left."""
        if name in self.stores:
            self.stores.pop(name).close()
        rules = self.policy.model_copy(update=policy)
        privacy, terms = None, self.terms.privacy()
        if terms is not None:
            self.stores[name] = FileStore(self.folder / f"{name}.privacy.jsonl")
            lifetime = Budget(rules.max_epsilon_lifetime, rules.max_delta_lifetime)
            store = StudyStore(self.stores[name], self.file.wire_name, lifetime, rules.least_honest)
            privacy = StudyPrivacy(terms, {name: self.file.declared(name)}, lambda _: store)
        ledger, home = self.ledgers.setdefault(name, Notes()), self.folder / name
        sent = frozenset(e.round_index for e in ledger.events("sent") if e.round_index is not None)
        home.mkdir(exist_ok=True)
        training = self.training(self.terms, self.rows[name], privacy)
        site = StudySite(self.terms, training, self.keys_of(name, rules, ledger), rules, privacy)
        self.agents[name] = Agent(self.terms, site, self.identities[name], ledger, home, sent)
        return self.agents[name]

    def keys_of(self, name: str, rules: Policy, ledger: "Notes") -> SiteKeys:
        study = self.terms.blueprint.study
        if study.keys == "shared":
            return SharedKey(self.key, study)
        holder = JointHolder(
            identity=self.identities[name],
            root=self.root,
            ledger=SignedClaims(ledger, self.file.digest, tuple(ledger)),
            policy=joint_policy(rules, study),
        )
        folder = self.folder / name
        answers = AnswerFile(folder / "answer.npz", name)
        if not self.terms.draws_committees:
            return JointKeys(self.terms.joint(), holder, answers)
        nonces = SiteNonces(
            identity=self.identities[name],
            study=self.file.wire_name,
            roster=self.file.keys_by_name,
            own=hashlib.sha256(name.encode()).digest(),
            folder=folder,
        )
        return JointKeys(self.terms.joint(nonces.known), holder, answers, nonces)

    def start_all(self) -> None:
        self.start_server()
        for name in self.file.sites:
            self.start_agent(name)

    def post(self, name: str, node: int) -> bool:
        """One message to a site and its answer back; False where the server had nothing to say."""
        assert self.server is not None
        parts = self.server.next_message(node)
        if parts is None:
            return False
        self.server.receive(node, self.agents[name].answer(parts))
        return True

    def run(self, *absent: str, until: Callable[[Coordinator], bool] = lambda server: server.finished) -> None:
        """Carry messages until the study is over; ``absent`` sites never answer."""
        assert self.server is not None
        for _ in range(200):
            if until(self.server):
                return
            moved = [self.post(name, node) for node, name in enumerate(self.file.sites) if name not in absent]
            if not any(moved):
                self.clock.now += 10
            self.server.advance()
        raise AssertionError("the study does not end")

    def federation(self) -> Federation:
        return Federation(
            dataset="study",
            shape=self.file.data.shape,
            class_names=self.file.data.label_names,
            clients=tuple(self.rows[name] for name in self.file.sites),
            source="test",
            partition="natural",
            labels=self.file.data.label_is,
        )


def with_numbers(client: ClientData) -> ClientData:
    """The same records with numbers to predict, on a model's scale."""
    train, test = (Rows(rows.X, rows.X[:, :1] / 2) for rows in (client.train, client.test))
    return replace(client, train=train, test=test)


def rows_for(number: int, name: str) -> ClientData:
    rng = np.random.default_rng(number)

    def some(count: int) -> Rows:
        x = rng.normal(size=(count, FEATURES)).astype(np.float32)
        return Rows(x, (x[:, number % FEATURES] > 0).astype(np.int64))

    return ClientData(name=name, train=some(30 + 4 * number), test=some(12))


PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="repeatable")


@pytest.fixture(scope="session")
def cohort_key() -> CohortKey:
    from sapefl_crypto import Parameters

    return CohortKey.generate(Parameters.exact(max_clients=4, max_abs_value=8.0))


@pytest.fixture
def world(tmp_path: Path, cohort_key: CohortKey) -> Callable[..., World]:
    """``world(rounds=2, privacy=PRIVATE, method="fedavg")``: any field of the study file."""

    def build(**fields: Any) -> World:
        identities = {name: SiteIdentity.generate(name) for name in NAMES}
        coordinator = SiteIdentity.generate("coordinator")
        features = tuple(Numeric(name=f"x{i}", low=-5, high=5) for i in range(FEATURES))
        defaults: dict[str, Any] = {
            "name": "trial",
            "coordinator": coordinator.public.to_text(),
            "roster": tuple(one.public.to_text() for one in identities.values()),
            "method": "sapefl",
            "rounds": 3,
            "local_epochs": 1,
            "batch_size": 8,
            "largest_site": 100,
            "min_cohort": 3,
            "round_deadline": 60.0,
            "protection": {"max_clients": 4},
            "data": TableSchema(label="y", classes=("no", "yes"), features=features).model_dump(),
        }
        file = StudyFile(**(defaults | fields))
        folder = tmp_path / f"world{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        return World(
            folder=folder,
            file=file,
            terms=any_terms(file),
            coordinator_identity=coordinator,
            identities=identities,
            key=cohort_key,
            rows={name: rows_for(number, name) for number, name in enumerate(NAMES)},
            policy=_policy(tmp_path),
        )

    return build


def _policy(folder: Path) -> Policy:
    (folder / "policy.toml").write_text(TEMPLATE)
    loose = {
        "without_privacy": True,
        "repeatable_noise": True,
        "max_epsilon_lifetime": 100.0,
        "max_delta_lifetime": 1e-4,
    }
    return Policy.load(folder / "policy.toml").model_copy(update=loose | {"max_delta_lifetime": 1e-4})


def altered(parts: Parts, number: int) -> Parts:
    """One bit of one part flipped."""
    part = bytearray(parts[number])
    part[len(part) // 2] ^= 1
    return (*parts[:number], bytes(part), *parts[number + 1 :])
