"""The agent's end of the pipe, with a trainer process that is real and honest."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.site.trainer.confinement import NEEDED
from secure_sapefl.site.trainer.messages import Message
from secure_sapefl.site.trainer.process import TrainerFailed, TrainerProcess
from secure_sapefl.site.trainer.training import Asked
from secure_sapefl.transport.users import OtherUser
from tests.deployed_study import World


def test_an_honest_model_trains_in_a_process_that_has_nothing_of_ours(
    carrying_world: Callable[..., World], real: Callable[..., Any]
) -> None:
    training = real(carrying_world(), "north")
    theta = training.theta_initial
    peers = Peers(theta[None] + 0.1, torch.ones(1, 1, dtype=torch.bool))
    own = {"theta_personal": theta[None].clone()}
    made = training.contribution(Asked(round_index=0, theta_global=theta, own=own, peers=peers))
    assert made.update is not None
    assert made.update.abs().max() > 0
    assert set(NEEDED) <= set(training.held)
    near = Path(f"/proc/{training._process.pid}")  # the process, as the system sees it
    assert (near / "environ").read_bytes() == b""
    assert "sapefl-trainer-" in str((near / "cwd").readlink())
    kinds = {str(file.readlink()).partition(":")[0] for file in (near / "fd").iterdir()}
    assert kinds == {"pipe", "/dev/null"}


SYSTEM = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")


@pytest.fixture
def anybodys_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The system's Python with our packages, in a folder that others may enter: ours may lie in one they may not."""
    if os.geteuid() != 0 or not SYSTEM.exists():
        pytest.skip("needs root, and a Python of this version that others may run")
    paths = [path for path in sys.path if path and not path.startswith(sys.base_prefix)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(folder) / "python"
        program.write_text(
            f"#!{SYSTEM} -I\nimport runpy, sys\nsys.path[:0] = {paths!r}\nsys.argv = sys.argv[3:]\n"
            "runpy.run_module(sys.argv[0], run_name='__main__')\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("anybodys_python")
def test_another_user_runs_it_where_one_is_named(tmp_path: Path) -> None:
    process = TrainerProcess(tmp_path, OtherUser.named("nobody"))
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        assert set(status["Uid"].split()) == {str(OtherUser.named("nobody").uid)}
        assert status["Groups"].split() == []
        assert {"other user", *NEEDED} <= set(process.held)
    finally:
        process.close()


@pytest.mark.slow
def test_a_process_that_was_closed_answers_nothing(tmp_path: Path) -> None:
    process = TrainerProcess(tmp_path, OtherUser())
    process.close()
    with pytest.raises((TrainerFailed, OSError, ValueError)):
        process.ask(Message({"do": "outputs"}), seconds=5)
