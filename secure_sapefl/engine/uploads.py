"""Uploads on their way from the sites to the server, in the order in which they were sent."""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

from sapefl_crypto.errors import CryptoError
from secure_sapefl.engine.events import SERVER, MessageSent, Observer, tell
from secure_sapefl.engine.result import Sent
from secure_sapefl.protocol.messages import Refusal, RoundUpload, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.stopwatch import Stopwatch


class Uploads(Protocol):
    """Where a site's upload goes."""

    accepted: list[Sent]

    def put(self, site: SiteId, upload: Future[RoundUpload]) -> None: ...

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Whose contribution the sites themselves leave out."""

    def accept_finished(self) -> None: ...

    def accept_all(self) -> None: ...


class Elsewhere:
    """The server is in another process, and is handed them there."""

    def __init__(self) -> None:
        self.accepted: list[Sent] = []

    def put(self, site: SiteId, upload: Future[RoundUpload]) -> None:
        pass

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        pass

    def accept_finished(self) -> None:
        pass

    def accept_all(self) -> None:
        pass


class UploadQueue:
    """Hands finished uploads to the server while others are still being encrypted."""

    def __init__(self, server: Server, clock: Stopwatch, observers: Sequence[Observer]) -> None:
        self._server, self._clock, self._observers = server, clock, observers
        self._pending: deque[tuple[SiteId, Future[RoundUpload]]] = deque()
        self.accepted: list[Sent] = []

    def put(self, site: SiteId, upload: Future[RoundUpload]) -> None:
        self._pending.append((site, upload))

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        for refusal in refusals:
            self._server.refuse(refusal.site, refusal.reason)

    def accept_finished(self) -> None:
        while self._pending and self._pending[0][1].done():
            self._accept_next()

    def accept_all(self) -> None:
        while self._pending:
            self._accept_next()

    def _accept_next(self) -> None:
        site, future = self._pending.popleft()
        try:
            with self._clock.phase("encrypt"):
                upload = future.result()
        except CryptoError as error:  # the site itself refused to send, for instance an update outside the bound
            self._server.refuse(site, str(error))
            return
        tell(self._observers, MessageSent(sender=site, recipients=(SERVER,), message=upload))
        with self._clock.phase("aggregate"):
            if self._server.accept(upload):
                self.accepted.append(Sent.from_upload(upload))
