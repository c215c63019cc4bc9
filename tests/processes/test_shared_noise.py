"""Shared noise with real processes: what a step costs, and what kill -9 costs. `SAPEFL_STEPS=200` takes as many steps.

Each test prints a line of evidence, which docs/privacy.md repeats.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from secure_sapefl.privacy.ledger_file import FileStore

pytestmark = pytest.mark.slow
STEPS = int(os.environ.get("SAPEFL_STEPS", "5"))
Small = Callable[..., Any]


@pytest.fixture(params=["shared", "joint"])
def sharing(small: Small, request: pytest.FixtureRequest) -> Small:
    """Four sites, all of whom a sum needs; noise from the operating system."""
    terms: dict[str, Any] = {"method": "fedavg", "dp_noise": "shared", "dp_contributors": 4, "min_cohort": 4}
    terms |= {"privacy": {"epsilon": 8.0, "delta": 1e-4}, "keys": request.param, "tls": False}
    return lambda **fields: small(4, **(terms | fields))


def paid(study: Any, site: str) -> list[int]:
    with FileStore(study.home(site).privacy_path) as store:
        return [event.round_index for event in store.load()]


def run_and_tell(study: Any, what: str) -> None:
    study.start_all()
    for step in range(STEPS):  # patience is for one step, not for two hundred
        study.wait_for(lambda step=step: study.status()["closed"] > step)
    study.wait_to_finish_well()
    status = study.status()
    seconds = median(one["seconds"] for one in status["history"][1:])  # processes begin in the first
    up, down = (sum(one[way] for one in status["sites"]) / 4000 / STEPS for way in ("bytes_up", "bytes_down"))
    print(
        f"\n{study.file.keys} keys, {STEPS} {what}: {seconds:.1f} s each, {up:.1f} kB up and {down:.1f} kB down a site"
    )
    assert all(paid(study, site) == list(range(STEPS)) for site in study.file.sites)


def test_a_step_and_what_it_costs(sharing: Small) -> None:
    run_and_tell(sharing(rounds=STEPS), "steps")


def test_a_round_of_each_site_s_own_noise_beside_it(sharing: Small) -> None:
    """The same method, budget and sites, an epoch a round: other noise, and messages of the same size."""
    run_and_tell(sharing(rounds=STEPS, dp_noise="local", dp_contributors=None, largest_site=100), "rounds of own noise")


def test_a_site_killed_once_it_has_paid_pays_no_second_time(sharing: Small) -> None:
    study = sharing(rounds=3)
    study.start_all()
    study.wait_for(lambda: 1 in study.paid("east"))
    study.kill("east")
    study.start_site("east")
    study.wait_to_finish_well()
    assert paid(study, "east") == [0, 1, 2]
    print(f"\nsite killed after its payment, {study.file.keys} keys: sent {study.sent('east')}, paid once for each")


def test_a_killed_server_costs_no_second_payment(sharing: Small) -> None:
    study = begun(sharing)
    under = study.under("server")
    study.kill("server")
    study.wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in under))
    study.start_server()
    all_steps_are_paid_once(study, "server killed")


@pytest.mark.parametrize("program", ["flower-superlink", "transport.one_run", "transport.gate", "transport.relay_node"])
def test_a_killed_program_costs_no_second_payment(sharing: Small, program: str) -> None:
    study = begun(sharing)
    (pid, *_) = study.under("east" if program == "transport.relay_node" else "server", program)
    os.kill(pid, signal.SIGKILL)
    all_steps_are_paid_once(study, f"{program} killed")


def begun(sharing: Small) -> Any:
    study = sharing(rounds=4)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    return study


def all_steps_are_paid_once(study: Any, what: str) -> None:
    study.wait_to_finish_well()
    spent = {site: paid(study, site) for site in study.file.sites}
    print(f"\n{what}, {study.file.keys} keys: steps that were paid for {spent}")
    assert all(steps == [0, 1, 2, 3] for steps in spent.values())
