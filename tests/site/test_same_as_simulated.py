"""What runs at sites is what the simulator runs: the same models come out, to float rounding.

A simulated group trains several sites in one batched product, a deployed site alone; sums may be rounded differently in
the last bits. With equal streams, keys of no influence and an exact encryption plan there is no other difference.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from secure_sapefl.data import ClientData
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.study.settings import PrivacyTerms
from tests.deployed_study import with_numbers

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="repeatable")


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "sapefl"},
        {"method": "sapefl", "privacy": PRIVATE},
        {"method": "sapefl", "privacy": PRIVATE, "scores": "hidden"},
        {"method": "sapefl", "privacy": PRIVATE, "keys": "joint"},
        {"method": "fedavg", "participation": 0.75},
        {"method": "fedavg", "participation": 0.75, "scores": "hidden", "server_momentum": 0.7},
        {"method": "fedavg", "participation": 0.75, "keys": "joint", "server_momentum": 0.7},
        {"method": "ditto"},
    ],
    ids=lambda fields: " ".join(str(value) for name, value in fields.items() if name != "privacy"),
)
def test_personal_and_global_models_equal_the_simulators(world: Callable[..., Any], fields: dict[str, Any]) -> None:
    deployed = world(largest_site=42, **fields)
    deployed.start_all()
    deployed.run()
    config = deployed.file.config().model_copy(update={"workers": 0})
    simulation = Simulation(assemble(config, deployed.federation()))
    simulation.run()
    for number, name in enumerate(deployed.file.sites):
        agent = deployed.agents[name]
        assert agent.state.absorbed == deployed.file.rounds - 1
        np.testing.assert_allclose(agent.state.theta_global, simulation.key_holders.theta_global, atol=2e-5)
        for key, values in simulation.assembly.sites.state.items():
            np.testing.assert_allclose(agent.state.own[key][0], values[number], atol=2e-5)


def test_a_number_is_learned_as_in_the_simulator(world: Callable[..., Any]) -> None:
    features = [{"name": f"x{i}", "low": -5, "high": 5} for i in range(len(world().file.data.features))]
    schema = {"label": "y", "target": {"low": -5, "high": 5}, "features": features}
    deployed = world(largest_site=42, rounds=2, privacy=PRIVATE, task="regression", data=schema)
    deployed.rows.update({name: with_numbers(rows) for name, rows in deployed.rows.items()})
    deployed.start_all()
    deployed.run()
    simulation = Simulation(assemble(deployed.file.config().model_copy(update={"workers": 0}), deployed.federation()))
    assert simulation.run().summary()["task"] == "regression"
    for name in deployed.file.sites:
        agent = deployed.agents[name]
        np.testing.assert_allclose(agent.state.theta_global, simulation.key_holders.theta_global, atol=2e-5)


def with_persons(client: ClientData) -> ClientData:
    """Every three rows in a row are one person's."""
    return replace(client, train=replace(client.train, persons=np.arange(len(client.train)) // 3))


@pytest.mark.parametrize(
    ("method", "keys", "unit"),
    [
        ("fedavg", "shared", "record"),
        ("sapefl", "shared", "record"),
        ("fedavg", "joint", "record"),
        ("fedavg", "joint", "person"),
    ],
)
def test_with_shared_noise_the_common_model_is_the_simulators(
    world: Callable[..., Any], method: str, keys: str, unit: str
) -> None:
    """Shares are keyed by site and round, sums are exact; only the gradients' last bits may differ, by a step or so."""
    schema = world().file.data.model_copy(update={"person": "patient"}).model_dump()
    asked = {"largest_site": 42, "dp_noise": "shared", "dp_unit": unit, "min_cohort": 4, "keys": keys, "data": schema}
    deployed = world(method=method, privacy=PRIVATE, **asked)
    deployed.rows = {name: with_persons(rows) for name, rows in deployed.rows.items()}
    deployed.start_all()
    deployed.run()
    simulation = Simulation(assemble(deployed.file.config().model_copy(update={"workers": 0}), deployed.federation()))
    simulation.run()
    for name in deployed.file.sites:
        np.testing.assert_allclose(
            deployed.agents[name].state.theta_global, simulation.key_holders.theta_global, atol=1e-4
        )
    assert (simulation.key_holders.theta_global[-1], deployed.agents["north"].state.absorbed) == (3, 2)
