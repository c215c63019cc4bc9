"""`server start`: keeps a SuperLink running and, inside it, a run of the study, until the study is over.

Flower does not resume a run whose process died. The study does: its state is on disk, so a new run goes on where the
old one stopped. A run is alive as long as it holds the lock on the state.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sapefl_crypto.secret import Secret
from secure_sapefl.coordinator.state import is_held, read_status
from secure_sapefl.errors import BadInput
from secure_sapefl.storage.files import make_private_folder
from secure_sapefl.transport import server_app_environment
from secure_sapefl.transport.flower import (
    Child,
    FlowerFailed,
    Tls,
    run_once,
    superlink_command,
    wait_for_port,
    write_bundle,
)

_log = logging.getLogger(__name__)
_BEGIN_SECONDS: Final = 120.0  # for a submitted run to take the lock
_RETRY_SECONDS: Final = 10.0  # after Flower refused to start one
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    study: Path
    key: Path  # the coordinator's
    passphrase: Secret | None  # of that key
    state: Path
    host: str
    port: int
    tls: Tls | None
    node_keys: Path  # folder of the public keys of relays that may connect; Flower checks them over TLS only
    at_once: int | None = None  # sites asked at the same time; None is all

    @property
    def address(self) -> str:
        """As programs on this machine reach the SuperLink."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound
        return f"{host}:{self.port}"


class StudyServer:
    """``serve`` returns when the study is over, or when ``stopped`` says so."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._home = settings.state / "flower"
        self._bundle = settings.state / "bundle"
        for folder in (settings.state, settings.node_keys):
            make_private_folder(folder)
        write_bundle(self._bundle, self._home, settings.address, settings.tls)
        self._link = Child(
            superlink_command(settings.host, settings.port, settings.tls),
            self._home,
            settings.state / "superlink.log",
            server_app_environment.of(
                settings.study, settings.state, settings.key, settings.passphrase, settings.at_once
            ),
        )
        self._submit_after = 0.0
        self._seen_running = False
        self._admitted: set[bytes] = set()

    def serve(self, stopped: Callable[[], bool]) -> None:
        try:
            self._link.start()
            self._prepare()
            while not (stopped() or self._over()):
                if self._link.keep_running():
                    self._prepare()
                self._admit()
                self._keep_run()
                time.sleep(_PAUSE_SECONDS)
        finally:
            self._link.stop()

    def _prepare(self) -> None:
        """A new SuperLink knows nobody: no node's key, and no run."""
        host, _, port = self._settings.address.rpartition(":")
        wait_for_port(host, int(port), self._link)
        self._admitted.clear()
        self._submit_after = 0.0

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
                run_once(["flwr", "supernode", "register", str(key)], self._home)
            except FlowerFailed as error:
                _log.warning(str(error))
            else:
                _log.info("a relay's key was admitted", extra={"program": key.name})

    def _keep_run(self) -> None:
        if is_held(self._settings.state):
            self._seen_running, self._submit_after = True, 0.0
            return
        if time.monotonic() < self._submit_after:
            return
        try:
            run_once(["flwr", "run", str(self._bundle)], self._home)
        except FlowerFailed as error:
            _log.warning(str(error))
            self._submit_after = time.monotonic() + _RETRY_SECONDS
        else:
            _log.info("a run of the study was started")
            self._submit_after = time.monotonic() + _BEGIN_SECONDS

    def _over(self) -> bool:
        """A finished study is served once more where some site lacks the end of it, for as long as a round may take."""
        try:
            status = read_status(self._settings.state)
        except BadInput:
            return False
        complete = all(site["absorbed"] == status["rounds"] for site in status["sites"])
        return status["finished"] and not status["running"] and (complete or self._seen_running)
