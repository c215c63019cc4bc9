"""Tasks are taken by their kind, and only with proof of the secret."""

from typing import Any

import pytest
from flwr.proto.runtime_pb2 import AcquireTaskRequest, AcquireTaskResponse
from flwr.proto.task_pb2 import Task
from flwr.supercore.constant import TaskType

from secure_sapefl.transport import tasks
from secure_sapefl.transport.tasks import next_task, task_list


class List:
    """A SuperNode's list, which remembers what it was asked for."""

    def __init__(self, *tokens: str) -> None:
        self.tokens, self.asked = list(tokens), []

    def AcquireTask(self, request: AcquireTaskRequest) -> AcquireTaskResponse:
        self.asked += request.supported_task_types
        return AcquireTaskResponse(task=Task(), token=self.tokens.pop(0)) if self.tokens else AcquireTaskResponse()


def test_a_task_comes_with_its_token_and_an_empty_list_gives_none() -> None:
    waiting = List("a")
    found = [next_task(waiting, TaskType.CLIENT_APP) for _ in range(2)]
    assert [one and one.token for one in found] == ["a", None]
    assert waiting.asked == [TaskType.CLIENT_APP] * 2


def test_every_request_is_proven_with_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(tasks.RuntimeHttpClient, "from_server_address", lambda **about: made.append(about))
    monkeypatch.setattr(tasks, "SuperExecAuthHttpInterceptor", lambda **proof: proof)
    task_list("127.0.0.1:1", b"s" * 32)
    task_list("127.0.0.1:1", b"s" * 32, b"an authority")
    proof = {"master_secret": b"s" * 32, "protected_methods": {"/flwr.proto.Runtime/AcquireTask"}}
    assert [proof in one["interceptors"] for one in made] == [True, True]
    assert [(one["insecure"], one["root_certificates"]) for one in made] == [(True, None), (False, b"an authority")]
