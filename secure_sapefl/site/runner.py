"""`site start`: the agent in this process, and beside it the relay, which is kept running until the study is over."""

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import torch

from sapefl_crypto.secret import Secret
from secure_sapefl.data.federation import ClientData
from secure_sapefl.engine.device import resolve_device
from secure_sapefl.site import begun_with
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.consent import require_approved
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.privacy_store import StudyStore
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.storage.files import write_private
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.file import StudyFile, read_study
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.agent_socket import AgentSocket
from secure_sapefl.transport.flower import Child, Tls
from secure_sapefl.transport.relay import RelayFolder, RelayUser

_POLL_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 10.0  # for the relay to carry the last answer away


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    study: Path
    home: Path
    server: str  # HOST:PORT
    run: Path  # folder of the socket and of the relay's files; holds no key of a study and no record
    tls: Tls | None
    relay_user: str | None = None
    resume_after_rejection: bool = False
    data_changed: bool = False  # the owner says that other records than at the beginning are meant
    device: str = "auto"


@dataclass(slots=True)
class RunningSite:
    """What `site status` is told."""

    file: StudyFile
    agent: Agent
    relay: Child
    path: Path
    device: str
    last_message: str | None = None
    messages: int = 0
    _written: float = field(default=0.0)

    def answer(self, parts: Parts) -> Parts:
        answer = self.agent.answer(parts)
        self.last_message = datetime.now(UTC).isoformat(timespec="seconds")
        self.messages += 1
        return answer

    def status(self, *, running: bool = True) -> dict[str, Any]:
        state = self.agent.state
        return {
            "site": state.site,
            "study": self.file.name,
            "digest": self.file.digest,
            "rounds": self.file.rounds,
            "absorbed": state.absorbed + 1,
            "answered": state.answered + 1,
            "halted": self.agent.halted,
            "over": self.agent.over,
            "epsilon": self.agent.epsilon,
            "letters": self.messages,
            "refused_letters": self.agent.refused_messages,
            "last_letter": self.last_message,
            "relay_restarts": self.relay.restarts,
            "device": self.device,
            "pid": os.getpid() if running else None,
        }

    def publish(self, *, running: bool = True) -> None:
        write_private(self.path, json.dumps(self.status(running=running), indent=1).encode())


def run_site(settings: SiteSettings, passphrase: Secret | None, stopped: Callable[[], bool]) -> None:
    """Until the study is over, ``stopped`` says so, or something happens after which nothing may leave."""
    file, home = read_study(settings.study), SiteHome(settings.home)
    terms, device = StudyTerms.from_file(file), resolve_device(settings.device)
    require_approved(home, terms)
    if _was_over(home, file):
        return
    near = RelayFolder(settings.run, RelayUser.named(settings.relay_user))
    near.prepare()
    identity = home.identity(passphrase)
    rows = load_site(home.data_path, file, home.name)
    if not settings.data_changed:
        begun_with.require_same(home.rows_path(file.digest), rows, home.data_path)
    with SiteLedger(home.ledger_path, identity) as ledger, _study_site(terms, home, rows, passphrase, device) as site:
        folder = home.study_folder(file.digest)
        if begun_with.have_changed(home.rows_path(file.digest), rows):
            note = "the owner goes on with other records than the study was begun with"
            ledger.append(SiteEvent(kind="started", study=file.digest, note=note))
        begun_with.keep(home.rows_path(file.digest), rows)
        agent = Agent(terms, site, identity, ledger, folder, _rounds_sent(home, file))
        if settings.resume_after_rejection and agent.halted:
            ledger.append(
                SiteEvent(kind="started", study=file.digest, note="the owner goes on after a rejected aggregate")
            )
            agent.resume()
        ledger.append(SiteEvent(kind="started", study=file.digest, note=f"server {settings.server}"))
        relay = near.relay(settings.server, settings.tls)
        running = RunningSite(file, agent, relay, folder / "status.json", str(device))
        _serve(running, AgentSocket(near.socket, near.user.gid), stopped)
        ledger.append(SiteEvent(kind="stopped", study=file.digest, note="the study is over" if agent.over else ""))


def _serve(running: RunningSite, socket: AgentSocket, stopped: Callable[[], bool]) -> None:
    """The agent answers in a thread; this one keeps the relay alive, and sees the agent fail."""
    end: float | None = None
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(socket.serve, running.answer)
        try:
            while not (stopped() or serving.done() or (end is not None and time.monotonic() > end)):
                running.relay.keep_running()
                running.publish()
                if running.agent.over and end is None:
                    end = time.monotonic() + _GRACE_SECONDS
                time.sleep(_POLL_SECONDS)
        finally:
            socket.stop()
            running.relay.stop()
            try:
                running.publish(running=False)
            finally:
                serving.result()  # what made the agent fail comes first


@contextmanager
def _study_site(
    terms: StudyTerms, home: SiteHome, rows: ClientData, passphrase: Secret | None, device: torch.device
) -> Iterator[StudySite]:
    file, policy = terms.file, home.policy()
    key = home.cohort_key(file, terms.params, passphrase)
    private = terms.privacy()
    if private is None:
        yield StudySite(terms, rows, key, policy, None, device)
        return
    from secure_sapefl.privacy.events import Budget
    from secure_sapefl.privacy.ledger_file import FileStore
    from secure_sapefl.privacy.study import StudyPrivacy

    lifetime = Budget(policy.max_epsilon_lifetime, policy.max_delta_lifetime)
    with FileStore(home.privacy_path) as events:
        store = StudyStore(events, file.wire_name, lifetime, policy.least_honest)
        privacy = StudyPrivacy(private, {home.name: file.declared(home.name)}, lambda _: store)
        yield StudySite(terms, rows, key, policy, privacy, device)


def _was_over(home: SiteHome, file: StudyFile) -> bool:
    """Whether the site has had the end of the study: nobody would write to it any more."""
    path = home.state_path(file.digest)
    return path.exists() and SiteState.load(path, study=file.digest, site=home.name).over


def _rounds_sent(home: SiteHome, file: StudyFile) -> frozenset[int]:
    """Rounds of this study for which the ledger says that something left."""
    entries = LedgerFiles(home.ledger_path).read(home.public).entries
    events = (entry.event for entry in entries)
    return frozenset(
        event.round_index
        for event in events
        if event.kind == "sent" and event.study == file.digest and event.round_index is not None
    )
