"""One process imports Flower and starts the SuperNode; what the SuperNode has to be carried is carried by its forks."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from flwr.proto.runtime_pb2 import AcquireTaskResponse
from flwr.proto.task_pb2 import Task
from flwr.supercore.constant import TaskType

from secure_sapefl.transport import relay_node
from secure_sapefl.transport.flower import free_port, listens
from secure_sapefl.transport.relay_node import Forks, carry
from secure_sapefl.transport.tasks import next_task, task_list


class Node:
    """A SuperNode that is not listening at first, then has tasks, and ends."""

    def __init__(self, *answers: str | httpx.HTTPError | None) -> None:
        self.answers = list(answers)

    def running(self) -> bool:
        return bool(self.answers)

    def AcquireTask(self, _: object) -> AcquireTaskResponse:
        answer = self.answers.pop(0)
        if isinstance(answer, httpx.HTTPError):
            raise answer
        return AcquireTaskResponse() if answer is None else AcquireTaskResponse(task=Task(), token=answer)


def test_every_task_is_started_once_while_the_node_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_node, "PAUSE_SECONDS", 0)
    node, started = Node(httpx.ConnectError("not yet"), None, "a", "b", None, httpx.ReadTimeout("slow"), "c"), []
    carry(node, node.running, started.append)
    assert started == ["a", "b", "c"]


def test_a_fork_becomes_flowers_clientapp_and_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clientapp() -> None:
        (tmp_path / str(os.getppid())).write_text(json.dumps(sys.argv))
        sys.exit(7)

    monkeypatch.setattr(relay_node, "flwr_clientapp", clientapp)
    forks, before = Forks("127.0.0.1:5"), list(sys.argv)
    forks.start("a token")
    (pid,) = forks._alive  # to wait for it here
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    said = json.loads((tmp_path / str(os.getpid())).read_text())
    expected = ["--runtime-api-address", "127.0.0.1:5", "--token", "a token", "--parent-pid", str(os.getpid())]
    assert said == ["flwr-clientapp", *expected, "--insecure"]
    assert sys.argv == before


def test_a_clientapp_that_fails_ends_its_fork_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("what Flower did not expect")

    monkeypatch.setattr(relay_node, "flwr_clientapp", broken)
    forks = Forks("127.0.0.1:5")
    forks.start("a token")
    (pid,) = forks._alive  # to wait for it here
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def test_the_node_gets_its_options_and_the_secret_and_gives_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "flower-supernode"
    program.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\nsecret = pathlib.Path(sys.argv[-1]).read_bytes().hex()\n"
        f"pathlib.Path({str(tmp_path / 'said')!r}).write_text(json.dumps([sys.argv[1:], secret]))\nsys.exit(5)\n"
    )
    program.chmod(0o755)
    known: list[tuple[str, bytes]] = []

    def task_list(address: str, secret: bytes) -> Node:
        known.append((address, secret))
        return Node(*[None] * 10_000)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(relay_node, "task_list", task_list)
    monkeypatch.setattr(relay_node.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        relay_node.main(["--superlink", "h:1", "--port", "4711", "--insecure"])
    options, secret = json.loads((tmp_path / "said").read_text())
    assert ended.value.code == 5
    assert options[:5] == ["--superlink", "h:1", "--port", "4711", "--insecure"]
    assert options[5:9] == ["--host", "127.0.0.1", "--isolation", "process"]
    assert known == [("127.0.0.1:4711", bytes.fromhex(secret))]
    assert len(known[0][1]) == 32
    assert secret not in " ".join(options)


@pytest.mark.slow
def test_a_real_supernode_gives_its_tasks_to_whoever_has_the_secret_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No SuperLink is there; its list of tasks is empty, and open to those who may ask."""
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    port, secret = free_port(), b"s" * 32
    options = ["--superlink", "127.0.0.1:1", "--port", str(port), "--insecure"]
    node = relay_node._started(options, secret)  # as `main` does, without carrying anything
    address = f"127.0.0.1:{port}"
    try:
        while not listens("127.0.0.1", port):
            assert node.poll() is None
        with closing(task_list(address, secret)) as ours, closing(task_list(address, b"x" * 32)) as foreign:
            assert next_task(ours, TaskType.CLIENT_APP) is None
            with pytest.raises(httpx.HTTPStatusError, match="401"):
                next_task(foreign, TaskType.CLIENT_APP)
    finally:
        node.kill()
        node.wait()
