"""Whatever else was submitted to the SuperLink, only the study's own run is executed."""

from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.transport import one_run
from secure_sapefl.transport import tasks as tasks_module


class Tasks:
    """A SuperLink's list of tasks, by run."""

    def __init__(self, *runs: int) -> None:
        self.runs = list(runs)

    def AcquireTask(self, _: object) -> object:
        from flwr.proto.runtime_pb2 import AcquireTaskResponse
        from flwr.proto.task_pb2 import Task

        run = self.runs.pop(0) if self.runs else None
        return AcquireTaskResponse() if run is None else AcquireTaskResponse(task=Task(run_id=run), token=f"of {run}")


def test_only_the_run_that_was_asked_for_is_executed() -> None:
    tasks = Tasks(5, 6, 77, 8)
    assert one_run.token_of(tasks, 77) == "of 77"
    assert tasks.runs == [8]
    assert one_run.token_of(Tasks(5, 6), 77, seconds=0.1) is None


def test_with_its_token_the_process_becomes_flowers_serverapp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    class Client:
        @staticmethod
        def from_server_address(**about: Any) -> Any:
            started.append([about["server_address"], str(about["insecure"])])
            tasks = Tasks(77)
            monkeypatch.setattr(tasks, "close", lambda: started.append(["closed"]), raising=False)
            return tasks

    (tmp_path / "secret").write_bytes(b"s" * 32)
    monkeypatch.setattr(tasks_module, "RuntimeHttpClient", Client)
    monkeypatch.setattr(one_run, "flwr_serverapp", lambda: started.append(one_run.sys.argv))
    monkeypatch.setattr(one_run.sys, "argv", ["pytest"])
    one_run.main(["--run", "77", "--superlink", "127.0.0.1:1", "--secret", str(tmp_path / "secret")])
    address = ["--runtime-api-address", "127.0.0.1:1"]
    assert started == [
        ["127.0.0.1:1", "True"],
        ["closed"],
        ["flwr-serverapp", *address, "--token", "of 77", "--insecure"],
    ]


def test_without_its_task_it_ends_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_run, "token_of", lambda *_: None)
    (tmp_path / "secret").write_bytes(b"s" * 32)
    with pytest.raises(SystemExit, match="no task of run 5"):
        one_run.main(["--run", "5", "--superlink", "127.0.0.1:1", "--secret", str(tmp_path / "secret")])
