"""Rounds of counts at a running site: until it has what it came for, or a sentence that says why not."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sapefl_crypto import FrameRejected
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.counting.runner import Counter
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.runner import RunningSite
from secure_sapefl.transport.expiry import CertificateWatch
from tests.counting_study import CountingWorld

Made = Callable[..., CountingWorld]


def alone(study: CountingWorld, name: str) -> Counter:
    """As `site start` makes it, with nobody else holding the site's ledgers."""
    study.stop(name)
    return study.counters[name]


def playing(study: CountingWorld, name: str, *absent: str) -> Callable[[Agent], None]:
    def serve(agent: Agent) -> None:
        study.agents[name] = agent
        study.run(*absent, until=lambda: agent.over)

    return serve


def test_sites_agree_once_and_nobody_is_asked_again(made: Made) -> None:
    study = made(preparation="common")
    counter = alone(study, "north")
    assert counter.agree(playing(study, "north"))

    def never(_: Agent) -> None:
        raise AssertionError("served again")

    assert counter.agree(never)


def test_a_site_that_is_stopped_before_has_nothing(made: Made) -> None:
    study = made(preparation="common")
    assert not alone(study, "north").agree(lambda _: None)


def test_training_that_begins_while_a_site_still_counts_is_no_refusal(made: Made, tmp_path: Path) -> None:
    """The server asks again. A ledger that spoke of a replay would speak of an honest study."""
    study = made(preparation="common")
    agents = study.agents
    study.run(until=lambda: all(agent.over for agent in agents.values()))
    assert study.server is not None
    early = study.server.next_message(0)
    assert early is not None
    relay, status, file = SimpleNamespace(restarts=0), tmp_path / "status.json", study.world.file
    counting = RunningSite(file, agents["north"], relay, status, "cpu", CertificateWatch(None), agreeing=True)
    for parts, refused in ((early, 0), ((b"noise",), 1)):
        with pytest.raises(FrameRejected):
            counting.answer(parts)
        assert counting.status()["refused_letters"] == refused
    home = study.homes["north"]
    notes = [one.event.note for one in LedgerFiles(home.ledger_path).read(home.public).entries]
    assert not any("replay" in note for note in notes)


def test_without_enough_counts_there_is_no_preparation_and_a_sentence(made: Made) -> None:
    study = made(preparation="common")
    for name in ("east", "south"):
        study.decline(name)
    counter = alone(study, "north")
    with pytest.raises(HomeRejected, match="came to no common preparation: fewer than 3"):
        counter.agree(playing(study, "north"))


def test_a_table_is_written_for_papers_and_programs(made: Made) -> None:
    study = made(kind="statistics")
    written = alone(study, "north").make_table(playing(study, "north"))
    assert written is not None
    assert written.read_text().startswith("column,says,all,no,yes\n")
    kept = json.loads(written.with_suffix(".json").read_text())
    assert kept["sites_in_the_sum"] == 4
    assert any("see them" in note for note in kept["notes"])
