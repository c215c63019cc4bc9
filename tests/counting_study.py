"""A deployed study whose sites count, in one process: real folders, keys and files, and a list for a network."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sapefl_crypto.keys.custody import cohort_record, seal_copy
from sapefl_crypto.keys.keyfile import write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.coordinator.runner import coordinator_for
from secure_sapefl.coordinator.stages import AnyCoordinator
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.protocol.messages import Refusal
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.counting.runner import Counter
from secure_sapefl.site.data import counts_of_all, load_rows
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import SiteLedger
from secure_sapefl.site.policy import TEMPLATE
from secure_sapefl.study.counting import CountingTerms
from tests.deployed_study import FEATURES, World

SCHEMA: dict[str, Any] = {
    "kind": "table",
    "label": "y",
    "classes": ["no", "yes"],
    "features": [
        *({"name": f"x{i}", "low": -5.0, "high": 5.0, "may_be_missing": True} for i in range(FEATURES - 1)),
        {"name": "sex", "kind": "categorical", "levels": ["f", "m", "d"]},
    ],
}
LOOSE = (
    TEMPLATE.replace("without_privacy = false", "without_privacy = true")
    .replace("repeatable_noise = false", "repeatable_noise = true")
    .replace("max_epsilon_lifetime = 8.0", "max_epsilon_lifetime = 100.0")
    .replace("max_epsilon_per_study = 4.0", "max_epsilon_per_study = 100.0")
    .replace("1e-5", "1e-3")
)


def write_table(path: Path, number: int, rows: int = 60) -> Path:
    rng = np.random.default_rng(number)
    lines = [",".join([*(f"x{i}" for i in range(FEATURES - 1)), "sex", "y"])]
    for k in range(rows):
        x = rng.normal(number / 2, 1, FEATURES - 1).clip(-5, 5)
        cells = ["" if rng.random() < 0.1 else f"{value:.4f}" for value in x]
        lines.append(",".join([*cells, "fm"[k % 2], "yes" if x[0] > number / 2 else "no"]))
    path.write_text("\n".join(lines) + "\n")
    return path


class Broke:
    """A ledger without room for anything."""

    def __init__(self, name: str) -> None:
        self.name, self.sites = name, (self,)
        self.ledger = self
        self.epsilon = 0.0

    def has_record(self, round_index: int) -> bool:
        return False

    def admit(self, round_index: int, invited: list[int]) -> tuple[list[int], list[Refusal]]:
        return [], [Refusal(self.name, "sits out")]


@dataclass
class CountingWorld:
    """``world`` has identities, keys and the training agents; here are homes, and the agents that count."""

    world: World
    homes: dict[str, SiteHome] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    server: AnyCoordinator | None = None
    _open: dict[str, ExitStack] = field(default_factory=dict)
    _state: ServerState | None = None

    @classmethod
    def made(cls, world: Callable[..., World], **fields: Any) -> "CountingWorld":
        built = world(**({"data": SCHEMA, "rounds": 1, "model": "linear", "method": "fedavg"} | fields))
        made, shared = cls(built), built.file.keys == "shared"
        cohort = Secret((built.key if shared else built.root).export_secret())
        record = cohort_record(cohort, study=built.file.name, parameters={} if shared else {"keys": "joint"})
        for number, (name, identity) in enumerate(built.identities.items()):
            data = write_table(built.folder / f"{name}.csv", number)
            home = SiteHome.create(built.folder / f"home-{name}", identity, data, LOOSE)
            write_key(built.folder / f"{name}.sealed", seal_copy(record, identity.public))
            home.take_cohort_key(built.folder / f"{name}.sealed", str(record.about["fingerprint"]))
            made.homes[name] = home
        made.start_server()
        for name in built.file.sites:
            made.start(name)
        return made

    @property
    def terms(self) -> CountingTerms:
        before = CountingTerms.before_training(self.world.file)
        return CountingTerms.of_table_one(self.world.file) if before is None else before

    def start_server(self) -> None:
        """As after a crash, if it ran before."""
        if self._state is not None:
            self._state.__exit__()
        self._state = ServerState(self.world.folder / "server", self.world.file.digest)
        self.server, _ = coordinator_for(
            self.world.file, self.world.coordinator_identity, self._state, self.world.clock
        )

    def start(self, name: str) -> None:
        """The agent that counts; as after a crash, if it ran before."""
        self.stop(name)
        stack = self._open[name] = ExitStack()
        home = self.homes[name]
        counter = Counter(self.terms, home, self.world.identities[name], None, self._counts(home, name))
        ledger = stack.enter_context(SiteLedger(home.ledger_path, self.world.identities[name]))
        privacy = stack.enter_context(counter.paying())
        self.counters[name], self.agents[name] = counter, counter.agent(ledger, privacy)

    def stop(self, name: str) -> None:
        self._open.pop(name, ExitStack()).close()

    def decline(self, name: str) -> None:
        """From now on this site answers that it does not want to."""
        agent = self.agents[name]
        agent.site.privacy = Broke(name)  # type: ignore[assignment]

    def _counts(self, home: SiteHome, name: str) -> Callable[[], Any]:
        if self.world.file.kind == "statistics":
            return lambda: counts_of_all(home.data_path, self.terms)
        return load_rows(home.data_path, self.world.file, name).counts

    def post(self, name: str) -> bool:
        assert self.server is not None
        node = self.world.file.index(name)
        parts = self.server.next_message(node)
        if parts is None:
            return False
        early = self.agents[name].is_addressed_by(parts)
        agent = self.agents[name] if early else self.world.agents.get(name)
        self.server.receive(node, None if agent is None else agent.answer(parts))
        return agent is not None

    def run(self, *absent: str, until: Callable[[], bool]) -> None:
        assert self.server is not None
        for _ in range(100):
            if until():
                return
            moved = [self.post(name) for name in self.world.file.sites if name not in absent]
            if not any(moved):
                self.world.clock.now += 10
            self.server.advance()
        raise AssertionError("the study does not end")

    def close(self) -> None:
        for stack in self._open.values():
            stack.close()
        if self._state is not None:
            self._state.__exit__()
