"""The socket carries parts, keeps others out, and outlives clients that misbehave."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from sapefl_crypto import FrameRejected
from secure_sapefl.errors import OutputFailed
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.agent_socket import AgentSocket, ask


def answer(parts: Parts) -> Parts:
    if parts == (b"bad",):
        raise FrameRejected("no")
    return tuple(reversed(parts))


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    agent = AgentSocket(tmp_path / "a.sock")
    thread = Thread(target=agent.serve, args=(answer,))
    thread.start()
    yield agent.path
    agent.stop()
    thread.join()
    assert not agent.path.exists()


def test_parts_go_in_and_come_out(path: Path) -> None:
    large = os.urandom(3 << 20)
    assert ask(path, (b"a", b"", large)) == (large, b"", b"a")


def test_a_refusal_says_nothing_but_that(path: Path) -> None:
    assert ask(path, (b"bad",)) is None
    assert ask(path, (b"good",)) == (b"good",)


@pytest.mark.parametrize(
    "sent",
    [b"", b"\x00", b"\x00\xff\xff\xff\xff", b"\x00\x00\x00\x00\x01" + b"\xff" * 8, b"\x00\x00\x00\x00\x01" + bytes(7)],
    ids=["nothing", "cut", "many parts", "huge part", "cut length"],
)
def test_a_client_that_talks_nonsense_does_not_stop_the_agent(path: Path, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        client.recv(10)
    assert ask(path, (b"still here",)) == (b"still here",)


@pytest.mark.parametrize("said", [b"", b"\x00\x00\x00\x00\x01" + (8).to_bytes(8)], ids=["silent", "half a message"])
def test_a_client_that_stays_and_says_no_more_keeps_nobody_waiting(tmp_path: Path, said: bytes) -> None:
    agent = AgentSocket(tmp_path / "a.sock", patience=0.2)
    thread = Thread(target=agent.serve, args=(answer,))
    thread.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(agent.path))
        client.sendall(said)
        assert ask(agent.path, (b"mine",)) == (b"mine",)
    agent.stop()
    thread.join()


def test_more_bytes_than_the_agent_takes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    agent = AgentSocket(tmp_path / "a.sock", largest=1000)
    thread = Thread(target=agent.serve, args=(answer,))
    thread.start()
    assert ask(agent.path, (bytes(400), bytes(600))) is not None
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(agent.path))
        client.sendall(b"\x00\x00\x00\x00\x01" + (1001).to_bytes(8))
        assert client.recv(1) == b"\x01"
    agent.stop()
    thread.join()


def test_only_its_owner_may_connect_unless_a_group_is_named(tmp_path: Path) -> None:
    for name, group, mode in (("alone", None, 0o600), ("shared", os.getgid(), 0o660)):
        agent = AgentSocket(tmp_path / name, group)
        assert stat.S_IMODE(agent.path.stat().st_mode) == mode
        agent._listener.close()  # `serve` closes it, and is not called here


def test_nobody_there_is_an_error_the_relay_can_handle(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ask(tmp_path / "nobody", (b"",))


def test_a_path_the_system_cannot_take_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="too long"):
        AgentSocket(tmp_path / ("x" * 100))
    with pytest.raises(OutputFailed, match="cannot listen"):
        AgentSocket(tmp_path / "missing" / "a.sock")


def test_an_agent_that_fails_ends_instead_of_going_on(tmp_path: Path) -> None:
    def fail(_: Parts) -> Parts:
        raise OutputFailed("the ledger cannot be written")

    agent, seen = AgentSocket(tmp_path / "f.sock"), []

    def serve() -> None:
        try:
            agent.serve(fail)
        except OutputFailed as error:
            seen.append(error)

    thread = Thread(target=serve)
    thread.start()
    with pytest.raises(OSError, match="closed the socket"):
        ask(agent.path, (b"x",))
    thread.join()
    assert seen
