"""`site start`: the agent in this process, and beside it the relay, which is kept running until the study is over."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.secret import Secret
from secure_sapefl.data.federation import ClientData
from secure_sapefl.engine.device import resolve_device
from secure_sapefl.site import begun_with
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.consent import require_approved
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.counting.runner import Counter, Serve
from secure_sapefl.site.counting.site import CountingSite
from secure_sapefl.site.data import counts_of_all, load_rows
from secure_sapefl.site.evaluation.subgroups import Subgroup, subgroups
from secure_sapefl.site.farewell import Farewell
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.key_files import site_keys
from secure_sapefl.site.keys import SiteKeys
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.privacy_store import StudyStore
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.site.trainer.limits import no_core
from secure_sapefl.site.trainer.starting import training_at
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.storage.files import write_private
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.counting import CountingTerms, any_terms
from secure_sapefl.study.file import StudyFile, read_study
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.agent_socket import AgentSocket
from secure_sapefl.transport.expiry import CertificateWatch
from secure_sapefl.transport.flower import Child, Tls, listens
from secure_sapefl.transport.relay import RelayFolder
from secure_sapefl.transport.users import OtherUser
from secure_sapefl.transport.wire import is_to_site

_log = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.5
_TOO_EARLY: Final = "The first round of training began before this site had made its table ready."


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
    certificate: CertificateWatch
    before: Agent | None = None  # answers what is still asked of the rounds before the first
    agreeing: bool = False  # the agent is of those
    last_message: str | None = None
    messages: int = 0
    _written: float = field(default=0.0)

    def answer(self, parts: Parts) -> Parts:
        if self.agreeing and is_to_site(parts, self.file.coordinator_keys, self.file.wire_name):
            raise FrameRejected(_TOO_EARLY)  # nothing is wrong with it, and the server asks again: no line for a ledger
        early = self.before is not None and self.before.is_addressed_by(parts)
        answer = (self.before if early and self.before is not None else self.agent).answer(parts)
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
            "agreeing": self.agreeing,
            "absorbed": 0 if self.agreeing else state.absorbed + 1,
            "answered": 0 if self.agreeing else state.answered + 1,
            "halted": self.agent.halted,
            "over": self.agent.over and not self.agreeing,
            "epsilon": self.agent.epsilon,
            "in_sums": self.agent.in_sums,
            "judged": None if self.agent.judged is None else self.agent.judged.to_json(),
            "letters": self.messages,
            "refused_letters": self.agent.refused_messages,
            "last_letter": self.last_message,
            "relay_restarts": self.relay.restarts,
            "device": self.device,
            "certificate_ends": self.certificate.ends,
            "carried_code": self._carried_code(),
            "pid": os.getpid() if running else None,
        }

    def _carried_code(self) -> dict[str, Any] | None:
        """Which code of the study's author runs here, and what keeps it in; None in a study without."""
        code, site = self.file.code, self.agent.site
        if code is None or isinstance(site, CountingSite):
            return None
        return {"sha256": code.digest, "holds": list(site.training.held)}

    def publish(self, *, running: bool = True) -> None:
        write_private(self.path, json.dumps(self.status(running=running), indent=1).encode())


def run_site(settings: SiteSettings, passphrase: Secret | None, stopped: Callable[[], bool]) -> None:
    """Until the study is over, ``stopped`` says so, or something happens after which nothing may leave."""
    file, home = read_study(settings.study), SiteHome(settings.home)
    terms = any_terms(file)
    require_approved(home, terms)
    if _was_over(home, file):
        return
    near = RelayFolder(settings.run, OtherUser.named(settings.relay_user))
    near.prepare()
    certificate = CertificateWatch(settings.tls)
    no_core()
    identity = home.identity(passphrase)
    serving = _serving(settings, file, near, certificate, stopped)
    if isinstance(terms, CountingTerms):
        count = partial(counts_of_all, home.data_path, terms)
        Counter(terms, home, identity, passphrase, count).make_table(serving)
        return
    device, counter = resolve_device(_device(settings, file)), _counter(file, home, identity, passphrase)
    if counter is not None and not counter.agree(serving):
        return
    loaded = load_rows(home.data_path, file, home.name, agreed_at(home, file))
    rows, groups = loaded.prepared(home.name), _subgroups(home, file, loaded.test)
    if not settings.data_changed:
        begun_with.require_same(home.rows_path(file.digest), rows, home.data_path)
    with ExitStack() as held:
        ledger = held.enter_context(SiteLedger(home.ledger_path, identity))
        keys = site_keys(home, terms, identity, ledger, passphrase)
        site = held.enter_context(_study_site(terms, home, rows, keys, device, groups))
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
        early = None if counter is None else counter.agent(ledger)
        running = RunningSite(file, agent, relay, folder / "status.json", str(device), certificate, early)
        _serve(running, AgentSocket(near.socket, near.user.gid), _farewell(settings), stopped)
        ledger.append(SiteEvent(kind="stopped", study=file.digest, note="the study is over" if agent.over else ""))


def _counter(file: StudyFile, home: SiteHome, identity: SiteIdentity, passphrase: Secret | None) -> Counter | None:
    """Of a study whose sites agree on a preparation before they train."""
    before = CountingTerms.before_training(file)
    if before is None:
        return None
    return Counter(before, home, identity, passphrase, load_rows(home.data_path, file, home.name).counts)


def _serving(
    settings: SiteSettings,
    file: StudyFile,
    near: RelayFolder,
    certificate: CertificateWatch,
    stopped: Callable[[], bool],
) -> Serve:
    """For an agent of a round of counts; `site status` finds it where it finds the study. Where training follows, it
    need not wait for the server to go: whatever is still asked of it is answered then, too."""
    trains = file.kind == "training"

    def serve(agent: Agent) -> None:
        path = SiteHome(settings.home).study_folder(file.digest) / "status.json"
        relay = near.relay(settings.server, settings.tls)
        running = RunningSite(file, agent, relay, path, "cpu", certificate, agreeing=trains)
        farewell = Farewell(lambda: False) if trains else _farewell(settings)
        _serve(running, AgentSocket(near.socket, near.user.gid), farewell, stopped)

    return serve


def _farewell(settings: SiteSettings) -> Farewell:
    host, _, port = settings.server.rpartition(":")
    return Farewell(lambda: listens(host.strip("[]"), int(port)))


def _serve(running: RunningSite, socket: AgentSocket, farewell: Farewell, stopped: Callable[[], bool]) -> None:
    """The agent answers in a thread; this one keeps the relay alive, and sees the agent fail."""
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(socket.serve, running.answer)
        try:
            while not (stopped() or serving.done() or (running.agent.over and farewell.is_due(running.messages))):
                running.relay.keep_running()
                running.certificate.look()
                running.publish()
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
    terms: StudyTerms,
    home: SiteHome,
    rows: ClientData,
    keys: SiteKeys,
    device: torch.device,
    groups: tuple[Subgroup, ...],
) -> Iterator[StudySite]:
    file, policy = terms.file, home.policy()
    private = terms.privacy()
    if private is None:
        with training_at(home, terms, rows, device=device) as training:
            yield StudySite(terms, training, keys, policy, None, groups)
        return
    from secure_sapefl.privacy.events import Budget
    from secure_sapefl.privacy.ledger_file import FileStore
    from secure_sapefl.privacy.study import StudyPrivacy

    lifetime = Budget(policy.max_epsilon_lifetime, policy.max_delta_lifetime)
    with FileStore(home.privacy_path) as events:
        store = StudyStore(events, file.wire_name, lifetime, policy.least_honest)
        privacy = StudyPrivacy(private, {home.name: file.declared(home.name)}, lambda _: store)
        training = OwnProcess(terms, rows, privacy, device)
        yield StudySite(terms, training, keys, policy, privacy, groups)


def _subgroups(home: SiteHome, file: StudyFile, test: NDArray[np.int64]) -> tuple[Subgroup, ...]:
    found, absent = subgroups(home.data_path, file.data, home.policy().judge_by, test)
    for said in absent:
        _log.warning(f"judge_by names {said!r}, which the table of this study does not have", extra={"site": home.name})
    return found


def _device(settings: SiteSettings, file: StudyFile) -> str:
    """Carried code trains on the processor, whatever there is."""
    return "cpu" if file.code is not None and settings.device == "auto" else settings.device


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
