"""Real processes are killed with SIGKILL; every study still ends, and well.

Each test prints a line of evidence, which docs/reliability.md repeats.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Small = Callable[..., Any]
PRIVATE = {"epsilon": 8.0, "delta": 1e-4}


def test_a_site_killed_while_it_computes_goes_on_without_a_second_payment(either: Small) -> None:
    study = either(rounds=3, local_epochs=100, largest_site=60, privacy=PRIVATE)
    study.start_all()
    study.wait_for(lambda: 1 in study.paid("east"))
    study.kill("east")
    sent = [event.round_index for event in study.events("east", "sent")]
    study.start_site("east")
    study.wait_to_finish_well()
    print(f"\nsite killed: had paid for round 1, had sent {sent}; sent {study.sent('east')} in the end")
    assert sent == [0]
    assert study.sent("east") == [0, 1, 2]


def test_the_server_killed_within_a_round_goes_on_in_that_round(either: Small) -> None:
    study = either(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    under = study.under("server")
    study.kill("server")
    study.wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in under))
    at = study.status()["closed"]
    study.start_server()
    study.wait_to_finish_well()
    print(f"\nserver killed in round {at}: {len(under)} processes under it ended; the study went on and ended")
    assert under
    assert at < 3
    assert all(study.sent(site) == [0, 1, 2] for site in study.file.sites)


@pytest.mark.parametrize("program", ["flower-superlink", "transport.one_run"])
def test_a_killed_program_of_the_server_is_replaced(either: Small, program: str) -> None:
    study = either(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    (pid, *_) = study.under("server", program)
    os.kill(pid, signal.SIGKILL)
    study.wait_to_finish_well()
    log = (study.folder / "server.log").read_text()
    print(f"\n{program} killed in round 1: {log.count('a run of the study was started')} runs started in all")
    assert log.count("a run of the study was started") >= 2


def test_a_killed_gate_is_started_again_on_the_same_port(either: Small) -> None:
    study = either(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    (pid,) = study.under("server", "transport.gate")
    os.kill(pid, signal.SIGKILL)
    study.wait_to_finish_well()
    log = (study.folder / "server.log").read_text()
    codes = [json.loads(line)["code"] for line in log.splitlines() if '"code"' in line]
    print(f"\ngate killed: exit codes {codes}; {log.count('a run of the study was started')} run in all")
    assert codes == [-signal.SIGKILL]


@pytest.mark.parametrize(("program", "code"), [("transport.relay_node", -signal.SIGKILL), ("flower-supernode", 137)])
def test_a_killed_relay_is_started_again_and_let_in_again(either: Small, program: str, code: int) -> None:
    study = either(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    (pid, *_) = study.under("east", program)
    os.kill(pid, signal.SIGKILL)
    study.wait_to_finish_well()
    log = (study.folder / "east.log").read_text()
    codes = [json.loads(line)["code"] for line in log.splitlines() if '"code"' in line]
    print(f"\n{program} killed: the relay's exit codes until it was let in again: {codes}")
    assert codes[0] == code


def test_a_site_that_never_comes_back_does_not_stop_the_others(either: Small) -> None:
    study = either(rounds=3, round_deadline=30.0)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    study.kill("south")
    study.wait_to_finish_well("south")
    south = next(site for site in study.status()["sites"] if site["site"] == "south")
    print(f"\nsite gone: the others ended; the server says of it {south['answer']!r}, {south['absorbed']} rounds")
    assert south["absorbed"] < 3
