"""Every mutant of our own code is caught by the check that the documentation says catches it; sound code by none."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit.audit import Effort, audit
from secure_sapefl.audit.canaries import run_with_canaries
from secure_sapefl.audit.epsilon import empirical_epsilon, mechanisms_of
from secure_sapefl.audit.file_rows import rows_moved
from secure_sapefl.audit.recording import RecordedRun
from secure_sapefl.audit.replay import replay
from secure_sapefl.engine.assembly import federation_of

PAGE = Path(__file__).parents[2] / "docs" / "privacy-audit.md"
Mutate = Callable[[str], AbstractContextManager[None]]
BY_MECHANISM = (
    "noise forgotten on the scores",
    "batch clipped instead of each record",
    "noise forgotten in training",
    "accountant that hardly counts",
)


def table() -> dict[str, set[str]]:
    """Mutant and the checks that catch it, as `docs/privacy-audit.md` has them."""
    section = PAGE.read_text(encoding="utf-8").partition("## Mutants")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {name: set(checks.split(", ")) for name, checks in rows if name != "mutant"}


@pytest.fixture
def config(tiny: Callable[..., Config], private: dict[str, Any]) -> Config:
    return tiny(**private)


def broken_mechanisms(config: Config) -> list[str]:
    federation = federation_of(config)
    terms = RecordedRun(config, federation).terms
    return [one.release for one in mechanisms_of(config, federation, terms, 300, 200, seed=0) if one.broken]


def test_no_sound_mechanism_is_called_broken(config: Config) -> None:
    assert broken_mechanisms(config) == []


@pytest.mark.parametrize("name", BY_MECHANISM)
def test_a_mechanism_alone_shows_what_is_wrong_with_it(name: str, config: Config, mutate: Mutate) -> None:
    with mutate(name):
        found = broken_mechanisms(config)
    about_scores = name == "noise forgotten on the scores"
    assert found == (["similarity_score (similarity rows)"] if about_scores else ["update (local batches)"])
    assert "mechanism alone" in table()[name]


@pytest.mark.parametrize("name", [None, "personal model from training that is not private"])
def test_canaries_show_a_model_trained_without_privacy(name: str | None, config: Config, mutate: Mutate) -> None:
    with mutate(name) if name else nullcontext():
        run = run_with_canaries(config, federation_of(config), 180, seed=0)
    found = empirical_epsilon(run, (), config.dp_delta)
    assert found.claimed is not None
    assert found.claimed <= 1
    assert (found.lower.epsilon > found.claimed) is (name is not None)
    assert name is None or "canaries" in table()[name]


def test_a_split_that_moves_other_rows_is_seen_from_the_file(config: Config, mutate: Mutate) -> None:
    rng = np.random.default_rng(0)
    assert rows_moved(config, federation_of(config), 3, rng).most == 1
    with mutate("rows split by a permutation over the file"):
        assert rows_moved(config, federation_of(config), 3, rng).most > 1
    assert table()["rows split by a permutation over the file"] == {"row of the file"}


def test_a_key_within_the_servers_reach_is_found_and_used(tiny: Callable[..., Config], mutate: Mutate) -> None:
    config = tiny(rounds=2, local_epochs=1)
    with mutate("key within the server's reach"):
        found = replay(config, federation_of(config))
    assert found.key_within_reach
    assert len(found.parties[0].updates) == len(found.parties[0].personal) == 12, "the server reads what it likes"
    assert table()["key within the server's reach"] == {"key search", "server's view"}


def test_sites_that_do_not_check_tags_take_any_sum(tiny: Callable[..., Config], mutate: Mutate) -> None:
    config = tiny(rounds=2, local_epochs=1)
    with mutate("tags not checked"):
        taken = {name for name, passed in replay(config, federation_of(config)).forgeries.items() if passed}
    assert taken == {"one site's update as the sum", "a sum without one site", "a sum with other weights"}
    assert table()["tags not checked"] == {"forged sums"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *table()])
def test_a_whole_audit_catches_a_mutant_as_the_table_says(
    name: str | None, config: Config, effort: Effort, mutate: Mutate, tmp_path: Path
) -> None:
    """A study and its audit by the same code."""
    with mutate(name) if name else nullcontext():
        simulate(config, tmp_path / "run")
        caught = {alarm.check for alarm in audit(tmp_path / "run", effort).alarms}
    assert table()[name] <= caught if name else caught == set()
