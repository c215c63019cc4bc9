"""Joint keys with real processes: what the committee's legs cost, and members and server killed with SIGKILL.

Each test prints a line of evidence, which docs/reliability.md and docs/performance.md repeat.
"""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Small = Callable[..., Any]
PRIVATE = {"epsilon": 8.0, "delta": 1e-4}


@pytest.fixture
def joint(small: Small) -> Callable[..., Any]:
    """Four sites, of whom three open a sum; without TLS, which changes nothing here and takes its time."""
    return lambda **fields: small(4, tls=False, keys="joint", method="fedavg", min_cohort=3, **fields)


def work(study: Any) -> list[dict[str, Any]]:
    return [one["committee"] for one in study.status()["history"]]


def signed(study: Any, site: str) -> list[int]:
    return [event.round_index for event in study.events(site, "signed")]


def test_four_hospitals_open_every_sum_together(joint: Small) -> None:
    study = joint(rounds=2)
    study.start_all()
    study.wait_to_finish_well()
    for index, one in enumerate(study.status()["history"]):
        legs = one["committee"]
        print(
            f"\nround {index}: {one['seconds']:.1f} s, of it the committee {legs['seconds']:.1f} s; of shares "
            f"{legs['bytes_of_shares']:,} bytes, to the members {legs['bytes_down']:,}, from them {legs['bytes_up']:,}"
        )
    assert all(signed(study, site) == [0, 1] for site in study.file.sites)
    assert [one["attempt"] for one in work(study)] == [0, 0]


def test_a_member_killed_before_its_ledger_entry(joint: Small) -> None:
    study = joint(rounds=1, privacy=PRIVATE)
    study.start_all()
    study.wait_for(lambda: bool(study.events("east", "sent")))
    study.kill("east")
    before = signed(study, "east")
    study.start_site("east")
    study.wait_to_finish_well()
    print(f"\nmember killed before it signed: {before}, then {signed(study, 'east')}; attempts {work(study)}")
    assert before == []
    assert study.status()["history"][0]["sent"] == 4


def test_a_member_killed_after_its_ledger_entry(joint: Small) -> None:
    study = joint(rounds=1, privacy=PRIVATE)
    study.start_all()
    study.wait_for(lambda: bool(signed(study, "east")))
    study.kill("east")
    before = study.events("east", "signed")
    study.start_site("east")
    study.wait_to_finish_well()
    after = study.events("east", "signed")
    print(f"\nmember killed after it signed round 0: {signed(study, 'east')}; attempts {work(study)}")
    assert after[: len(before)] == before
    assert signed(study, "east").count(0) == 1


def test_the_server_killed_between_uploads_and_claim(joint: Small) -> None:
    """Another attempt: the same updates under other keys. Nothing is paid twice."""
    study = joint(rounds=1, privacy=PRIVATE)
    study.start_all()
    study.wait_for(lambda: bool(study.events("east", "sent")) and not signed(study, "east"))
    study.kill("server")
    study.start_server()
    study.wait_to_finish(*study.processes)
    notes = [event.note for event in study.events("east", "sent")]
    print(f"\nserver killed before the claim: attempt {work(study)[0]['attempt']}; east sent {notes}")
    assert all(signed(study, site) == [0] for site in study.file.sites)
    assert work(study)[0]["attempt"] == 1
    assert notes[-1] == "the same update under another key"


def test_a_member_under_its_own_minimum_keeps_sums_closed_that_need_its_signature(joint: Small) -> None:
    """The study is content with three senders; the owner of `east` asks for four. `south` is killed after a round."""
    study = joint(rounds=3, round_deadline=90.0)
    policy = study.home("east").policy_path
    policy.write_text(policy.read_text().replace("min_cohort = 2", "min_cohort = 4"))
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    study.kill("south")
    study.wait_to_finish_well("south")
    reasons = [one["left_out"][-1]["reason"] for one in study.status()["history"] if one["left_out"]]
    print(f"\nown minimum of a member: east signed the claims of rounds {signed(study, 'east')}; {reasons[-1]}")
    assert signed(study, "east") == [0]
    assert signed(study, "north") == [0, 1, 2]
    assert reasons[-1].startswith("2 of 4 members of the committee signed the claim, 3 are needed (missing: east")
    said = [one["reason"] for one in study.status()["history"][1]["left_out"] if one["site"] == "east"]
    assert "minimum cohort" in said[0], "the coordinator and all sites are told why"
