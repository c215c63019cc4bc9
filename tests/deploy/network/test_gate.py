"""What the gate lets through: the calls of Flower's nodes, written anew, and nothing else."""

import asyncio
from typing import Any

import httpx
import pytest
from flwr.superlink.routers.control import router as control_router
from flwr.superlink.routers.fleet.router import router as fleet_router

from secure_sapefl.transport.gate import FLEET_CALLS, LARGEST_BODY, Gate


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
