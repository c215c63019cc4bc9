"""`server start`: the coordinator in this process, and beside it Flower, which is kept running until the study is over.

Flower carries. Its SuperLink listens on loopback, behind the gate; its ServerApp reaches the coordinator over a socket.
Neither has a key of the study, and a run that ends is followed by another.
"""

import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sapefl_crypto.keys.custody import identity_from
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.keyfile import Kind, read_key
from sapefl_crypto.secret import Secret
from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.coordinator.relay_requests import RelayRequests, largest_answer
from secure_sapefl.coordinator.stages import AnyCoordinator, Stages
from secure_sapefl.coordinator.state import ServerState, read_status
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import PREPARATION
from secure_sapefl.storage.files import make_private_folder
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile, read_study
from secure_sapefl.study.round_terms import RoundTerms
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.agent_socket import AgentSocket
from secure_sapefl.transport.expiry import CertificateWatch
from secure_sapefl.transport.flower import Child, FlowerFailed, Tls
from secure_sapefl.transport.logs import log_to
from secure_sapefl.transport.relay import RelayFolder
from secure_sapefl.transport.superlink import SuperLink, listening
from secure_sapefl.transport.users import OtherUser

_log = logging.getLogger(__name__)
_RETRY_SECONDS: Final = 10.0  # after a run could not be started, or ended
_PAUSE_SECONDS: Final = 1.0
_PUBLISH_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    study: Path
    key: Path  # the coordinator's
    passphrase: Secret | None  # of that key
    state: Path
    run: Path  # folder of the socket and of Flower's files; holds no key of the study
    host: str
    port: int
    tls: Tls | None
    node_keys: Path  # folder of the public keys of relays that may connect; Flower checks them over TLS only
    relay_user: str | None = None
    at_once: int | None = None  # sites asked at the same time; None is all


class RunningStudy:
    """The coordinator, in a thread of its own: the socket's."""

    def __init__(
        self,
        coordinator: AnyCoordinator,
        state: ServerState,
        requests: RelayRequests,
        socket: AgentSocket,
        certificate: CertificateWatch,
    ) -> None:
        self._coordinator, self._state, self._requests, self._socket = coordinator, state, requests, socket
        self._certificate = certificate
        self._published = 0.0
        self.over = False

    def serve(self) -> None:
        try:
            self._socket.serve(self._requests.answer, self._pass_time)
        finally:
            self._publish()

    def stop(self) -> None:
        self._socket.stop()

    def _publish(self) -> None:
        self._state.publish({**self._coordinator.status(), "certificate_ends": self._certificate.ends})

    def _pass_time(self) -> None:
        self._certificate.look()
        self._coordinator.advance()
        self.over = self._coordinator.finished
        if time.monotonic() > self._published + _PUBLISH_SECONDS:
            self._publish()
            self._published = time.monotonic()


class Carriers:
    """SuperLink, gate and the run's ServerApp; to be started, kept and stopped by one thread."""

    def __init__(self, settings: ServerSettings, near: RelayFolder, listener: socket.socket) -> None:
        self._settings = settings
        self._link = SuperLink(near, settings.state, tls=settings.tls is not None)
        self._gate = self._link.gate(listener, settings.tls)
        self._run: Child | None = None
        self._run_after = 0.0
        self._admitted: set[bytes] = set()

    def start(self) -> None:
        self._link.child.start()
        self._link.wait()
        self._gate.start()

    def keep_running(self) -> None:
        if self._link.child.keep_running():
            self._link.wait()  # and it knows nobody: no node's key, and no run
            self._admitted.clear()
            self._end_run()
        self._gate.keep_running()
        self._admit()
        self._keep_run()

    def stop(self) -> None:
        self._end_run()
        self._gate.stop()
        self._link.child.stop()

    def _admit(self) -> None:
        """Register keys that were put into the folder since; a relay that is refused keeps trying."""
        if self._settings.tls is None:
            return
        for key in sorted(self._settings.node_keys.glob("*.pub")):
            content = key.read_bytes()
            if content in self._admitted:
                continue
            self._admitted.add(content)
            try:
                self._link.admit(key)
            except FlowerFailed as error:
                _log.warning(str(error))
            else:
                _log.info("a relay's key was admitted", extra={"program": key.name})

    def _keep_run(self) -> None:
        if (self._run is not None and self._run.running) or time.monotonic() < self._run_after:
            return
        if self._run is not None:
            _log.warning("a run of the study ended before the study did")
        self._run_after = time.monotonic() + _RETRY_SECONDS
        try:
            self._run = self._link.new_run()
            self._run.start()
        except FlowerFailed as error:
            _log.warning(str(error))
        else:
            _log.info("a run of the study was started")

    def _end_run(self) -> None:
        if self._run is not None:
            self._run.stop()
        self._run, self._run_after = None, 0.0


def run_server(settings: ServerSettings, stopped: Callable[[], bool]) -> None:
    """Until the study is over, or ``stopped`` says so."""
    file = read_study(settings.study)
    identity = identity_from(read_key(settings.key, Kind.SITE_IDENTITY, passphrase=settings.passphrase))
    near = RelayFolder(settings.run, OtherUser.named(settings.relay_user))
    make_private_folder(settings.node_keys)
    with (
        listening(settings.host, settings.port) as listener,
        ServerState(settings.state, file.digest) as state,
        log_to(state.folder / "server.log"),
    ):
        if _was_over(settings.state, file):
            return
        near.prepare()
        coordinator, longest = coordinator_for(file, identity, state)
        requests = RelayRequests(coordinator, file.round_deadline, settings.at_once)
        agent = AgentSocket(near.socket, near.user.gid, largest=longest)
        study = RunningStudy(coordinator, state, requests, agent, CertificateWatch(settings.tls))
        _serve(study, Carriers(settings, near, listener), stopped)


def coordinator_for(
    file: StudyFile, identity: SiteIdentity, state: ServerState, clock: Callable[[], float] = time.monotonic
) -> tuple[AnyCoordinator, int]:
    """Whatever the study is for, and the largest answer a site may give."""
    if file.kind == "statistics":
        counting = CountingTerms.of_table_one(file)
        return _one(counting, identity, state, clock), largest_answer(counting)
    terms, before = StudyTerms.from_file(file), CountingTerms.before_training(file)
    longest = largest_answer(terms)
    if before is None:
        return _one(terms, identity, state, clock), longest
    about = {"study": file.name, "digest": file.digest, "rounds": file.rounds, "closed": 0, "history": []}
    first = _one(before, identity, state.part(PREPARATION, before.file.digest), clock)
    longest = max(longest, largest_answer(before))
    return Stages(first, lambda: _one(terms, identity, state, clock), about), longest


def _one(terms: RoundTerms, identity: SiteIdentity, state: ServerState, clock: Callable[[], float]) -> Coordinator:
    return Coordinator(terms, identity, state, clock)


def _serve(study: RunningStudy, carriers: Carriers, stopped: Callable[[], bool]) -> None:
    """The coordinator answers in a thread; this one keeps Flower alive, and sees the coordinator fail."""
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(study.serve)
        try:
            carriers.start()
            while not (stopped() or study.over or serving.done()):
                carriers.keep_running()
                time.sleep(_PAUSE_SECONDS)
        finally:
            carriers.stop()
            study.stop()
            serving.result()  # what made the coordinator fail comes first


def _was_over(state: Path, file: StudyFile) -> bool:
    """Whether every site has had the end of the study: nobody waits for anything any more."""
    try:
        status = read_status(state)
    except BadInput:
        return False
    complete = all(site["absorbed"] == file.rounds for site in status["sites"])
    return bool(status["finished"] and complete)
