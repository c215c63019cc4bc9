"""What the gate lets through: the calls of Flower's nodes, written anew, and nothing else."""

import asyncio
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from flwr.supercore.constant import FLEET_HTTP_PUBLIC_KEY_HEADER
from flwr.superlink.routers.control import router as control_router
from flwr.superlink.routers.fleet.router import router as fleet_router

from sapefl_crypto.keys.certificates import make_certificates
from secure_sapefl.transport import gate
from secure_sapefl.transport.flower import Child, wait_for_port
from secure_sapefl.transport.gate import FLEET_CALLS, LARGEST_BODY, Gate
from secure_sapefl.transport.superlink import listening


class Inside:
    """A SuperLink that writes down what reaches it."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        headers = {"content-type": "application/x-protobuf", "flwr-answer": "yes", "set-cookie": "no"}
        return httpx.Response(201, headers=headers, content=b"answer")


def called(inside: Any, method: str, url: str, **more: Any) -> httpx.Response:
    async def call() -> httpx.Response:
        near = httpx.AsyncClient(transport=httpx.MockTransport(inside), base_url="https://inside")
        async with near, httpx.AsyncClient(transport=httpx.ASGITransport(Gate(near)), base_url="https://gate") as far:
            return await far.request(method, url, **more)

    return asyncio.run(call())


def test_the_calls_are_those_of_flowers_fleet_and_no_other() -> None:
    assert {route.path for route in fleet_router.routes} == FLEET_CALLS
    assert not {route.path for route in control_router.routes} & FLEET_CALLS
    assert gate.PULL in FLEET_CALLS


def test_nodes_are_known_by_the_header_of_flowers() -> None:
    assert gate._NODES_KEY.decode() == FLEET_HTTP_PUBLIC_KEY_HEADER  # private: nobody else reads it


@pytest.mark.parametrize("call", sorted(FLEET_CALLS))
def test_a_nodes_call_passes_with_flowers_headers_and_its_body(call: str) -> None:
    inside = Inside()
    sent = {
        "content-type": "application/x-protobuf",
        "flwr-signature": "s",
        "cookie": "c",
        "x-forwarded-for": "1.2.3.4",
    }
    answer = called(inside, "POST", call, headers=sent, content=b"body")
    (request,) = inside.requests
    assert (request.url.path, request.content) == (call, b"body")
    assert request.headers["flwr-signature"] == "s"
    assert not {"cookie", "x-forwarded-for"} & set(request.headers)
    assert (answer.status_code, answer.content, answer.headers["flwr-answer"]) == (201, b"answer", "yes")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", route.path) for route in control_router.routes),
        ("POST", "/v1/runtime/acquire-task"),
        ("POST", "/v1/runtime/push-messages"),
        ("GET", "/docs"),
        ("GET", "/"),
        ("GET", "/v1/fleet/pull-messages"),
        ("POST", "/v1/fleet/pull-messages?x=1"),
        ("POST", "/v1/fleet/pull-messages/"),
        ("POST", "/v1/fleet/../control/start-run"),
        ("POST", "/v1/fleet/%2e%2e/control/start-run"),
        ("POST", "/v1/fleet/pull%2Dmessages"),
        ("POST", "//v1/control/start-run"),
        ("POST", "/V1/FLEET/pull-messages"),
    ],
)
def test_nothing_else_reaches_the_superlink(method: str, path: str) -> None:
    inside = Inside()
    assert called(inside, method, path, content=b"x" if method == "POST" else None).status_code == 404
    assert not inside.requests


def test_a_body_that_is_too_large_is_not_passed_on() -> None:
    inside = Inside()
    assert called(inside, "POST", "/v1/fleet/push-object", content=bytes(LARGEST_BODY + 1)).status_code == 413
    assert not inside.requests


def test_a_superlink_that_is_not_there_is_said_to_be_just_that() -> None:
    async def gone(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody listens")

    assert called(gone, "POST", "/v1/fleet/get-run", content=b"").status_code == 502


class Empty(Inside):
    """A SuperLink that has a message from the ``nth`` question on."""

    def __init__(self, nth: int, status: int = 200) -> None:
        super().__init__()
        self.nth, self.status = nth, status

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        await super().__call__(request)
        return httpx.Response(self.status, content=b"message" if len(self.requests) >= self.nth else b"")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_PAUSE_SECONDS", 0.01)  # private: nobody else sets how long tests wait
    monkeypatch.setattr(gate, "_PAUSE_SECONDS_A_NODE", 0.01)  # private: the same


@pytest.mark.usefixtures("quick")
def test_a_node_that_asks_for_a_message_hears_when_there_is_one() -> None:
    inside = Empty(4)
    answer = called(inside, "POST", gate.PULL, headers={"flwr-public-key": "k"}, content=b"who")
    assert (answer.status_code, answer.content) == (200, b"message")
    assert {(one.headers["flwr-public-key"], one.content) for one in inside.requests} == {("k", b"who")}
    assert len(inside.requests) == 4


@pytest.mark.usefixtures("quick")
def test_it_hears_in_time_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "HELD_SECONDS", 0.1)
    inside = Empty(10**6)
    assert called(inside, "POST", gate.PULL, headers={"flwr-public-key": "k"}).content == b""
    assert 1 < len(inside.requests) < 20


@pytest.mark.parametrize(
    ("call", "headers", "status", "size"),
    [
        ("/v1/fleet/confirm-message-received", {"flwr-public-key": "k"}, 200, 3),
        (gate.PULL, {}, 200, 3),
        (gate.PULL, {"flwr-public-key": "k"}, 401, 3),
        (gate.PULL, {"flwr-public-key": "k"}, 200, 5000),
    ],
)
def test_nothing_else_is_held(call: str, headers: dict[str, str], status: int, size: int) -> None:
    inside = Empty(2, status)
    assert called(inside, "POST", call, headers=headers, content=bytes(size)).status_code == status
    assert len(inside.requests) == 1


@pytest.mark.usefixtures("quick")
def test_nobody_asks_in_the_name_of_a_node_that_has_gone_and_one_question_of_each_is_held() -> None:
    """A message that is handed out is handed out once: to a connection that is closed it would be lost."""
    inside, said = Empty(10**6), []

    async def send(message: Any) -> None:
        said.append(message)

    async def calls() -> None:
        scope = {"type": "http", "method": "POST", "query_string": b"", "raw_path": gate.PULL.encode()}
        scope |= {"headers": [(b"flwr-public-key", b"k")]}
        leaves, hears = asyncio.Event(), asyncio.Queue()
        hears.put_nowait({"type": "http.request", "body": b"", "more_body": False})

        async def receive() -> Any:
            if hears.empty():
                await leaves.wait()
                return {"type": "http.disconnect"}
            return hears.get_nowait()

        async with httpx.AsyncClient(transport=httpx.MockTransport(inside), base_url="https://inside") as near:
            passes = Gate(near)
            first = asyncio.ensure_future(passes(scope, receive, send))
            while len(inside.requests) < 3:
                await asyncio.sleep(0.01)
            assert not said
            hears.put_nowait({"type": "http.request", "body": b"", "more_body": False})
            await passes(scope, receive, send)
            assert said[0]["status"] == 200
            leaves.set()
            await first
            asked = len(inside.requests)
            await asyncio.sleep(0.1)
            assert len(inside.requests) == asked
            assert said[2]["status"] == 408

    asyncio.run(calls())


class Plain(BaseHTTPRequestHandler):
    """A SuperLink that repeats what it is told."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


def test_its_process_ends_tls_and_passes_a_nodes_call_alone(tmp_path: Path) -> None:
    files, inside = make_certificates(tmp_path, ["127.0.0.1"]), ThreadingHTTPServer(("127.0.0.1", 0), Plain)
    Thread(target=inside.serve_forever, daemon=True).start()
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        words = [sys.executable, "-m", "secure_sapefl.transport.gate", "--listener", str(listener.fileno())]
        words += ["--superlink", f"127.0.0.1:{inside.server_port}"]
        words += ["--certificate", str(files.certificate), "--key", str(files.key)]
        process = Child(words, tmp_path, tmp_path / "log", pass_files=(listener.fileno(),))
        process.start()
        try:
            wait_for_port("127.0.0.1", port, process)
            trusted = ssl.create_default_context(cafile=files.ca)
            with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=60) as caller:
                assert caller.post("/v1/fleet/push-object", content=bytes(6 << 20)).content == bytes(6 << 20)
                assert caller.post("/v1/control/start-run", content=b"x").status_code == 404
            trusted.maximum_version = ssl.TLSVersion.TLSv1_2
            with httpx.Client(verify=trusted) as old, pytest.raises(httpx.TransportError):
                old.post(f"https://127.0.0.1:{port}/v1/fleet/get-run")
        finally:
            process.stop()
            inside.shutdown()
            inside.server_close()
