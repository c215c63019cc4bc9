"""A network observer at work: a wire with an ear on it, and what is made of what it hears.

`Tap` stands between one site and its server and passes on every byte. It keeps what anybody on the way could keep: when
bytes passed, how many, in which direction, and the bytes themselves. Under TLS the last are good for nothing; that is
looked into, not assumed (`found`). Rounds do not show on the wire, but exchanges do: bulk down, a pause in which the
site works, bulk up.
"""

import math
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final, Self

from secure_sapefl.protocol.messages import SiteId

BULK: Final = 16384
"""Bytes without a pause that are more than a question whether there is news."""
_BREATH: Final = 0.05  # seconds; a longer one is a pause
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """Bytes that passed at one moment."""

    at: float
    upward: bool  # from the site to the server
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bulk:
    upward: bool
    begun: float
    ended: float
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a site was told, how long it then was silent, and what it answered."""

    received: int
    waited: float
    sent: int


class Tap:
    """``with Tap("127.0.0.1", 9092) as tap``: connect to ``tap.port`` of this machine instead of the server's."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._ear = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self.port = int(self._ear.getsockname()[1])
        self.passings: list[Passing] = []
        self.streams: list[bytearray] = []  # one for each direction of each connection

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._ear, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _listen(self) -> None:
        with suppress(OSError):  # closed from outside: the end
            while True:
                near, _ = self._ear.accept()
                self._join(near)

    def _join(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._server)
        except OSError:
            near.close()  # as the server itself would refuse
            return
        self._ends += [near, far]
        for source, target, upward in ((near, far, True), (far, near, False)):
            threading.Thread(target=self._carry, args=(source, target, upward), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, upward: bool) -> None:
        heard = bytearray()
        with self._lock:
            self.streams.append(heard)
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                heard += piece
                with self._lock:
                    self.passings.append(Passing(at=time.monotonic(), upward=upward, size=len(piece)))
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


def exchanges(passings: Sequence[Passing]) -> tuple[Exchange, ...]:
    """Told from each other by their bulk alone: what comes down between two answers, and the answers."""
    bulks = sorted((*_bulks(passings, upward=True), *_bulks(passings, upward=False)), key=lambda bulk: bulk.begun)
    turns = [tuple(turn) for _, turn in groupby(bulks, key=lambda bulk: bulk.upward)]
    return tuple(
        Exchange(
            received=sum(bulk.size for bulk in news),
            waited=answer[0].begun - news[-1].ended,
            sent=sum(bulk.size for bulk in answer),
        )
        for news, answer in pairwise(turns)
        if answer[0].upward
    )


def _bulks(passings: Sequence[Passing], *, upward: bool) -> Iterator[_Bulk]:
    """Bytes of one direction without a pause between them, where they are more than small talk."""
    run: list[Passing] = []
    for one in (*(p for p in passings if p.upward is upward), Passing(at=math.inf, upward=upward, size=0)):
        if run and one.at - run[-1].at > _BREATH:
            size = sum(p.size for p in run)
            if size >= BULK:
                yield _Bulk(upward=upward, begun=run[0].at, ended=run[-1].at, size=size)
            run = []
        run.append(one)


def histories(heard: Mapping[SiteId, Sequence[Passing]]) -> dict[str, dict[SiteId, dict[int, float]]]:
    """By what was measured, by site, by exchange: as `infer_properties` takes them."""
    seen = {site: exchanges(passings) for site, passings in heard.items()}
    return {
        what: {site: {t: float(getattr(one, field)) for t, one in enumerate(of)} for site, of in seen.items()}
        for what, field in (("bytes up", "sent"), ("bytes down", "received"), ("time to answer", "waited"))
    }


def found(streams: Iterable[bytes | bytearray], needles: Mapping[str, Iterable[bytes]]) -> set[str]:
    """Kinds of secrets of which one stands in what passed, as it is."""
    heard = list(streams)
    return {kind for kind, ones in needles.items() for one in ones if any(one in stream for stream in heard)}
