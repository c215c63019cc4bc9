"""Rounds of counts at a running site: until it has what it came for, or a sentence that says why not."""

import json
from collections.abc import Callable

import pytest

from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.counting.runner import Counter
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
