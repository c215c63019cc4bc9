"""The gate: all of a study's server that listens for others. It ends TLS, passes the fleet's calls, and nothing else.

Flower's SuperLink answers its nodes, its control API (submit a run, admit a key) and its runtime API on one port, and
asks nobody but nodes who they are. So it listens on loopback alone, and the gate writes every request anew: one of the
calls below, the headers Flower sends with them, and the body.

A node of Flower's that asks for a message and finds none sleeps for three seconds. So a question that would be answered
with nothing is held here and put again until there is something: most of a round is such waiting.

`server start` keeps it running in a process of its own, which knows neither study nor key but that of the certificate.
"""

import argparse
import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any, Final

import httpx
import uvicorn

from secure_sapefl.transport.flower import end_with_parent

FLEET_CALLS: Final = frozenset(
    f"/v1/fleet/{call}"
    for call in (
        "register-node",
        "activate-node",
        "deactivate-node",
        "unregister-node",
        "send-node-heartbeat",
        "pull-messages",
        "push-messages",
        "get-run",
        "get-fab",
        "push-object",
        "pull-object",
        "confirm-message-received",
    )
)
PULL: Final = "/v1/fleet/pull-messages"
HELD_SECONDS: Final = 20.0  # less than a node waits for an answer, which is 30
LARGEST_BODY: Final = 16 << 20  # bytes; Flower cuts messages into pieces of 5 MiB
_BODY_SECONDS: Final = 120.0  # for a caller to send one
_ANSWER_SECONDS: Final = 120.0
_IDLE_SECONDS: Final = 2.0  # less than the SuperLink keeps an idle connection
_CONNECTIONS: Final = 1000
_CALLS_AT_ONCE: Final = 64  # each may hold a body; others wait
_LARGEST_HELD: Final = 4096  # bytes of a question
_PAUSE_SECONDS: Final = 0.5  # until a held question is put again,
_PAUSE_SECONDS_A_NODE: Final = 0.03  # and no more than 33 a second of all nodes together
_HEADERS: Final = frozenset({b"content-type", b"accept"})
_FLOWERS_HEADERS: Final = b"flwr-"
_NODES_KEY: Final = b"flwr-public-key"

_Header = tuple[bytes, bytes]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]


class _Refused(Exception):
    """Ends a request with ``status``; the caller learns no more."""

    def __init__(self, status: int) -> None:
        self.status = status


class Gate:
    """An ASGI application in front of the SuperLink that ``client`` reaches."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._places = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._held: set[bytes] = set()  # whose questions: one of each node

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        try:
            call, headers = _allowed(scope), _known(scope["headers"])
            async with self._places:
                body = b"".join([piece async for piece in _body(receive)])
                answer = await self._client.post(call, headers=headers, content=body)
            node = dict(headers).get(_NODES_KEY)
            if call == PULL and node and node not in self._held and len(body) <= _LARGEST_HELD and _is_nothing(answer):
                answer = await self._something_for(node, headers, body, receive)
            await _say(send, answer.status_code, _known(answer.headers.raw), answer.content)
        except _Refused as refusal:
            await _say(send, refusal.status)
        except httpx.HTTPError:
            await _say(send, 502)

    async def _something_for(
        self, node: bytes, headers: list[_Header], body: bytes, receive: _Receive
    ) -> httpx.Response:
        """Not for a caller that has gone: a message that is handed out is handed out once."""
        until = asyncio.get_running_loop().time() + HELD_SECONDS
        gone = asyncio.ensure_future(receive())
        self._held.add(node)
        try:
            while True:
                await asyncio.wait([gone], timeout=max(_PAUSE_SECONDS, len(self._held) * _PAUSE_SECONDS_A_NODE))
                if gone.done():
                    raise _Refused(408)
                async with self._places:
                    answer = await self._client.post(PULL, headers=headers, content=body)
                if not _is_nothing(answer) or asyncio.get_running_loop().time() >= until:
                    return answer
        finally:
            self._held.remove(node)
            gone.cancel()


def _is_nothing(answer: httpx.Response) -> bool:
    """An empty list of messages is a protobuf of no bytes."""
    return answer.status_code == 200 and not answer.content


def _allowed(scope: _Message) -> str:
    """The call, spelt exactly as Flower's nodes spell it."""
    call: str = scope["raw_path"].decode("latin-1")
    if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"] or call not in FLEET_CALLS:
        raise _Refused(404)
    return call


def _known(headers: Iterable[_Header]) -> list[_Header]:
    lower = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lower if name in _HEADERS or name.startswith(_FLOWERS_HEADERS)]


async def _body(receive: _Receive) -> AsyncIterator[bytes]:
    size, more = 0, True
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise _Refused(400)
                size += len(message["body"])
                if size > LARGEST_BODY:
                    raise _Refused(413)
                more = message["more_body"]
                yield message["body"]
    except TimeoutError:
        raise _Refused(408) from None


async def _say(send: _Send, status: int, headers: Sequence[_Header] = (), content: bytes = b"") -> None:
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": content})


def superlink_client(address: str, authority: str | None) -> httpx.AsyncClient:
    """``authority`` is the certificate of the SuperLink's own; None where it speaks no TLS."""
    verify = ssl.create_default_context(cafile=authority) if authority else False
    return httpx.AsyncClient(
        base_url=f"{'https' if authority else 'http'}://{address}",
        verify=verify,
        headers={"accept-encoding": "identity"},
        timeout=_ANSWER_SECONDS,
        limits=httpx.Limits(max_connections=_CALLS_AT_ONCE, keepalive_expiry=_IDLE_SECONDS),
        trust_env=False,
    )


def main(arguments: list[str] | None = None) -> None:
    """The key is read first; then the process becomes the user it was given."""
    options = _parser().parse_args(arguments)
    config = uvicorn.Config(
        Gate(superlink_client(options.superlink, options.authority)),
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
        lifespan="off",
        ws="none",
        access_log=False,
        server_header=False,
        log_level="warning",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
    if options.user is not None:
        _become(options.user, options.group)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=options.listener)])


def _become(user: int, group: int) -> None:
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    end_with_parent()  # the kernel forgot it with the old user


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="secure_sapefl.transport.gate", description="Passes the fleet's calls only.")
    parser.add_argument("--listener", type=int, required=True, help="File descriptor of the socket to listen on.")
    parser.add_argument("--superlink", required=True, help="HOST:PORT on loopback.")
    parser.add_argument("--authority", help="Certificate of the SuperLink's authority.")
    parser.add_argument("--certificate", help="What callers are shown.")
    parser.add_argument("--key", help="Of that certificate.")
    parser.add_argument("--user", type=int, help="Whom to become once the key is read.")
    parser.add_argument("--group", type=int)
    return parser


if __name__ == "__main__":
    main()
