"""Deployed sites count: a Table 1, and one preparation before the first round of training."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.data.tables.schema import read_schema
from secure_sapefl.data.tables.table_one import table_one
from secure_sapefl.data.tables.tally import by_class
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import PREPARATION
from secure_sapefl.privacy.ledger_file import read_events
from secure_sapefl.site.counting.kept import agreed_at, table_at, was_sent
from secure_sapefl.site.data import federation, load_rows, load_table
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.transport.wire import read_to_site
from tests.counting_study import SCHEMA, CountingWorld

PRIVATE = PrivacyTerms(epsilon=50.0, delta=1e-4, noise="repeatable")
Made = Callable[..., CountingWorld]


def all_agreed(study: CountingWorld, *names: str) -> Callable[[], bool]:
    return lambda: all(study.agents[name].over for name in names or study.world.file.sites)


def files(study: CountingWorld) -> dict[str, Path]:
    return {name: home.data_path for name, home in study.homes.items()}


def test_every_site_has_the_table_of_all_rows_and_nobody_elses_counts(made: Made) -> None:
    study = made(kind="statistics")
    study.run(until=all_agreed(study))
    schema = read_schema(SCHEMA)
    tables = [load_table(path, schema) for path in files(study).values()]
    plan = by_class(schema)  # type: ignore[arg-type]
    expected = table_one(sum(plan.counted(one.X, one.y) for one in tables), schema)  # type: ignore[arg-type]
    for home in study.homes.values():
        assert table_at(home, study.world.file) == (expected, 4)
    assert study.server is not None
    assert study.server.finished


def test_a_private_table_is_noised_and_paid_for_once(made: Made) -> None:
    study = made(kind="statistics", privacy=PrivacyTerms(epsilon=2.0, delta=1e-4, noise="secure"))
    study.run(until=all_agreed(study))
    found = table_at(study.homes["north"], study.world.file)
    assert found is not None
    (event,) = read_events(study.homes["north"].privacy_path)
    assert (event.release, event.study) == ("table 1", study.world.file.wire_name)
    records = found[0].lines[0].values[0]
    assert isinstance(records, int)
    assert abs(records - 240) < 400
    assert records != 240


@pytest.mark.parametrize("keys", ["shared", "joint"])
def test_sites_agree_and_train_as_the_simulator_does(made: Made, keys: str) -> None:
    study = made(preparation="common", method="sapefl", largest_site=60, keys=keys)
    study.run(until=all_agreed(study))
    simulated = federation(study.world.file, files(study))
    for name, home in study.homes.items():
        found = agreed_at(home, study.world.file)
        assert found == simulated.agreed
        study.world.rows[name] = load_rows(home.data_path, study.world.file, name, found).prepared(name)
        study.world.start_agent(name)
    assert study.server is not None
    study.run(until=lambda: study.server is not None and study.server.finished)
    simulation = Simulation(assemble(study.world.file.config().model_copy(update={"workers": 0}), simulated))
    simulation.run()
    for agent in study.world.agents.values():
        np.testing.assert_allclose(agent.state.theta_global, simulation.key_holders.theta_global, atol=2e-5)


def test_a_late_site_is_given_what_the_others_agreed_on(made: Made) -> None:
    study = made(preparation="common")
    study.run("west", until=all_agreed(study, "north", "east", "south"))
    study.run(until=all_agreed(study))
    shown = [agreed_at(home, study.world.file) for home in study.homes.values()]
    assert shown[0] is not None
    assert shown[0].sites == 3
    assert all(one == shown[0] for one in shown)
    west = study.homes["west"]
    assert not was_sent(LedgerFiles(west.ledger_path).read(west.public).entries, study.terms)


def test_killed_at_any_point_nothing_is_sent_or_paid_twice(made: Made) -> None:
    study = made(preparation="common", privacy=PRIVATE)
    for name in study.world.file.sites:
        while study.post(name) and study.agents[name].state.answered != 0:
            pass
        study.start(name)  # after it has sent
    study.start_server()  # what came is forgotten; sites hand in the same again
    study.run(until=all_agreed(study))
    for name, home in study.homes.items():
        events = [one for one in read_events(home.privacy_path) if one.release == PREPARATION]
        assert len(events) == 1
        sent = [e.event for e in LedgerFiles(home.ledger_path).read(home.public).entries if e.event.kind == "sent"]
        assert {one.message for one in sent} == {"counts"}
        assert len({one.digest for one in sent}) == 1
        assert {(one.study, one.round_index) for one in sent} == {(study.world.file.digest, None)}
        found = agreed_at(home, study.world.file)
        assert found is not None
        assert found.noised, name


def test_rows_are_not_ready_before_sites_agree(made: Made) -> None:
    study = made(preparation="common")
    home = study.homes["north"]
    with pytest.raises(BadInput, match="have not agreed on a preparation yet"):
        load_rows(home.data_path, study.world.file, "north").prepared("north")
    assert agreed_at(home, study.world.file) is None


def test_a_message_of_one_stage_fits_no_other(made: Made) -> None:
    study = made(preparation="common")
    assert study.server is not None
    parts = study.server.next_message(0)
    assert parts is not None
    assert study.agents["north"].is_addressed_by(parts)
    file = study.world.file
    with pytest.raises(FrameRejected):
        read_to_site(parts, file.coordinator_keys, file.wire_name)
