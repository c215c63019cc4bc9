"""`server start`, with Flower's programs as a list of what was done to them: tests/processes has the real ones."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.coordinator import runner
from secure_sapefl.coordinator.runner import Carriers, ServerSettings
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.transport.flower import FlowerFailed, Tls


class Program:
    """A child process that does nothing; ``died`` makes it look ended."""

    def __init__(self, name: str, did: list[str]) -> None:
        self.name, self.did, self.died = name, did, False

    @property
    def running(self) -> bool:
        return not self.died

    def start(self) -> None:
        self.did.append(f"{self.name} started")

    def stop(self) -> None:
        self.did.append(f"{self.name} stopped")

    def keep_running(self) -> bool:
        restarted, self.died = self.died, False
        return restarted


class Link:
    def __init__(self, did: list[str]) -> None:
        self.did, self.child, self.runs = did, Program("link", did), []
        self.refuses: set[str] = set()

    def gate(self, *_: object) -> Program:
        return Program("gate", self.did)

    def wait(self) -> None:
        self.did.append("waited")

    def admit(self, key: Path) -> None:
        if key.name in self.refuses:
            raise FlowerFailed("Flower knows this key already.")
        self.did.append(f"admitted {key.name}")

    def new_run(self) -> Program:
        self.runs.append(Program(f"run {len(self.runs)}", self.did))
        return self.runs[-1]


@pytest.fixture
def link() -> Link:
    return Link([])


@pytest.fixture
def carriers(link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Carriers]:
    monkeypatch.setattr(runner, "SuperLink", lambda *_, **__: link)
    monkeypatch.setattr(runner, "_RETRY_SECONDS", 0.0)
    (tmp_path / "nodes").mkdir()
    files = Tls(ca=tmp_path / "ca", certificate=tmp_path / "c", key=tmp_path / "k")
    settings = ServerSettings(
        study=tmp_path, key=tmp_path, passphrase=None, state=tmp_path, run=tmp_path, host="", port=0, tls=files,
        node_keys=tmp_path / "nodes",
    )  # fmt: skip
    with socket.socket() as listener:
        yield Carriers(settings, None, listener)  # type: ignore[arg-type]


def test_the_link_comes_first_and_goes_last(carriers: Carriers, link: Link) -> None:
    carriers.start()
    carriers.keep_running()
    carriers.stop()
    assert link.did == [
        "link started", "waited", "gate started", "run 0 started", "run 0 stopped", "gate stopped", "link stopped",
    ]  # fmt: skip


def test_a_run_that_ends_is_followed_by_another(carriers: Carriers, link: Link) -> None:
    carriers.keep_running()
    carriers.keep_running()
    assert len(link.runs) == 1
    link.runs[0].died = True
    carriers.keep_running()
    assert [run.name for run in link.runs] == ["run 0", "run 1"]


def test_a_key_is_admitted_once_and_again_by_a_link_that_was_restarted(
    carriers: Carriers, link: Link, tmp_path: Path
) -> None:
    (tmp_path / "nodes" / "a.pub").write_text("key a")
    carriers.keep_running()
    carriers.keep_running()
    (tmp_path / "nodes" / "b.pub").write_text("key b")
    carriers.keep_running()
    assert [did for did in link.did if did.startswith("admitted")] == ["admitted a.pub", "admitted b.pub"]
    link.did.clear()
    link.child.died = True
    carriers.keep_running()
    assert link.did == ["waited", "run 0 stopped", "admitted a.pub", "admitted b.pub", "run 1 started"]


def test_a_key_that_flower_refuses_stops_nobody_else(
    carriers: Carriers, link: Link, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "ab":
        (tmp_path / "nodes" / f"{name}.pub").write_text(f"key {name}")
    link.refuses = {"a.pub"}
    carriers.keep_running()
    assert "admitted b.pub" in link.did
    assert "knows this key already" in caplog.text


@pytest.mark.parametrize(
    ("absorbed", "finished", "over"), [((2, 2), True, True), ((2, 1), True, False), ((2, 2), False, False)]
)
def test_a_study_that_everybody_has_had_the_end_of_is_not_served_again(
    world: Callable[..., Any], absorbed: tuple[int, ...], finished: bool, over: bool
) -> None:
    file = world(rounds=2).file
    folder = world().folder
    with ServerState(folder / "server", file.digest) as state:
        assert not runner._was_over(folder / "server", file)
        state.publish({"finished": finished, "sites": [{"absorbed": count} for count in absorbed]})
        assert runner._was_over(folder / "server", file) is over
