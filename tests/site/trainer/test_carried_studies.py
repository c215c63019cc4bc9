"""Studies that carry code with whatever else a study may have: every method, late sites, joint keys, one preparation
that sites agreed on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.values import readable_rows
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.site.consent import approve
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.data import federation, load_rows
from secure_sapefl.site.own_model import exported_model
from secure_sapefl.site.predict import predict
from secure_sapefl.study.file import signed_text
from tests.carried_code import carried
from tests.counting_study import SCHEMA, CountingWorld
from tests.deployed_study import World
from tests.site.trainer.here import build, trained_here

METHODS = tuple(name for name in ALGORITHMS if name != "local")  # which sends nothing: there is no study to run
QUICK = {("sapefl", "shared"), ("fedavg", "joint"), ("fedas", "shared")}  # the others are slow
PAIRS = [(method, keys) for method in METHODS for keys in ("shared", "joint")]


def simulated(deployed: World, **more: Any) -> Simulation:
    config = deployed.file.config().model_copy(update={"workers": 0})
    simulation = Simulation(assemble(config, more.get("federation", deployed.federation()), model=build))
    simulation.run()
    return simulation


def require_same(deployed: World, simulation: Simulation) -> None:
    for number, name in enumerate(deployed.file.sites):
        state = deployed.agents[name].state
        np.testing.assert_allclose(state.theta_global, simulation.key_holders.theta_global, atol=2e-5)
        for key, values in simulation.assembly.sites.state.items():
            np.testing.assert_allclose(state.own[key][0], values[number], atol=2e-5)


@pytest.mark.parametrize(
    ("method", "keys"), [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow) for pair in PAIRS]
)
def test_every_method_trains_a_carried_model_as_the_simulator_does(
    carrying_world: Callable[..., World], method: str, keys: str
) -> None:
    deployed = carrying_world(method=method, keys=keys, rounds=2, largest_site=42, head="2")
    deployed.training = trained_here
    deployed.start_all()
    deployed.run()
    require_same(deployed, simulated(deployed))


@pytest.mark.parametrize("missed", [1, 2])
def test_a_late_site_trains_the_carried_model_too(carrying_world: Callable[..., World], missed: int) -> None:
    """Mid-study it takes part from then on; after the last round it makes a model of its own, and nothing leaves."""
    deployed = carrying_world(rounds=2)
    deployed.training = trained_here
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == missed)
    deployed.run()
    agent = deployed.agents["west"]
    own = agent.state.own["theta_personal"][0]
    assert agent.over
    assert len(deployed.ledgers["west"].events("sent")) == 2 - missed
    assert not torch.equal(own, agent.site.training.theta_initial)
    assert not torch.equal(own, agent.state.theta_global)


@pytest.fixture
def agreeing(world: Callable[..., World], tmp_path: Path) -> Iterator[Callable[..., CountingWorld]]:
    made: list[CountingWorld] = []

    def start(**fields: Any) -> CountingWorld:
        given = {**carried(tmp_path, SCHEMA), "preparation": "common", "method": "sapefl", "largest_site": 60}
        made.append(CountingWorld.made(world, **(given | fields)))
        return made[-1]

    yield start
    for one in made:
        one.close()


def agree(study: CountingWorld, *absent: str) -> None:
    """Until all sites that are there have the preparation, and train."""
    there = [name for name in study.homes if name not in absent]
    study.run(*absent, until=lambda: all(study.agents[name].over for name in there))
    for name in there:
        begin(study, name)


def begin(study: CountingWorld, name: str) -> None:
    home, file = study.homes[name], study.world.file
    study.world.rows[name] = load_rows(home.data_path, file, name, agreed_at(home, file)).prepared(name)
    study.world.start_agent(name)


def finished(study: CountingWorld) -> bool:
    return study.server is not None and study.server.finished


@pytest.mark.parametrize("keys", ["shared", "joint"])
def test_sites_agree_on_a_preparation_and_train_the_carried_model(
    agreeing: Callable[..., CountingWorld], keys: str
) -> None:
    study = agreeing(keys=keys)
    study.world.training = trained_here
    agree(study)
    study.run(until=lambda: finished(study))
    files = {name: home.data_path for name, home in study.homes.items()}
    require_same(study.world, simulated(study.world, federation=federation(study.world.file, files)))


@pytest.mark.slow
def test_the_owner_uses_the_model_with_what_was_agreed(agreeing: Callable[..., CountingWorld], tmp_path: Path) -> None:
    """Consent, real trainer processes under the owner's policy, predictions and the exported model."""
    study = agreeing()
    file, home = study.world.file, study.homes["north"]
    home.policy_path.write_text(home.policy_path.read_text().replace('code = "never"', 'code = "reviewed"'))
    (tmp_path / "study.toml").write_text(signed_text(file, study.world.coordinator_identity))
    study.world.training = trained_here
    agree(study)
    study.stop("north")
    approve(home, tmp_path / "study.toml", study.world.identities["north"])
    study.run(until=lambda: finished(study))
    state = study.world.agents["north"].state
    state.save(home.state_path(file.digest))
    (tmp_path / "new.csv").write_text("x0,x1,x2,sex\n0.5,-1,,f\n2,1,0,m\n")
    found = predict(home, study.world.terms, tmp_path / "new.csv")
    exported = exported_model(home, study.world.terms)
    module = build(type("About", (), {"shape": file.data.shape, "outputs": 2}))
    module.load_state_dict(dict(exported.module.state_dict()))
    rows = load_rows(home.data_path, file, "north", agreed_at(home, file))
    assert isinstance(file.data, TableSchema)
    records = readable_rows(read_columns(tmp_path / "new.csv", file.data), file.data)[0]
    with torch.no_grad():
        expected = module(torch.from_numpy(rows.prepare(records))).softmax(1)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)


def test_one_that_comes_after_the_others_agreed_is_prepared_as_they_are(agreeing: Callable[..., CountingWorld]) -> None:
    study = agreeing()
    study.world.training = trained_here
    agree(study, "west")
    study.run(until=lambda: study.agents["west"].over)
    begin(study, "west")
    study.run(until=lambda: finished(study))
    agent = study.world.agents["west"]
    assert agent.over
    assert not torch.equal(agent.state.own["theta_personal"][0], agent.site.training.theta_initial)
