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
from flwr.superlink.routers.control import router as control_router
from flwr.superlink.routers.fleet.router import router as fleet_router

from sapefl_crypto.keys.certificates import make_certificates
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
        gate = Child(words, tmp_path, tmp_path / "log", pass_files=(listener.fileno(),))
        gate.start()
        try:
            wait_for_port("127.0.0.1", port, gate)
            trusted = ssl.create_default_context(cafile=files.ca)
            with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=60) as caller:
                assert caller.post("/v1/fleet/push-object", content=bytes(6 << 20)).content == bytes(6 << 20)
                assert caller.post("/v1/control/start-run", content=b"x").status_code == 404
            trusted.maximum_version = ssl.TLSVersion.TLSv1_2
            with httpx.Client(verify=trusted) as old, pytest.raises(httpx.TransportError):
                old.post(f"https://127.0.0.1:{port}/v1/fleet/get-run")
        finally:
            gate.stop()
            inside.shutdown()
            inside.server_close()
