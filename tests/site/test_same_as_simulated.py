"""What runs at sites is what the simulator runs: the same models come out, to float rounding.

A simulated group trains several sites in one batched product, a deployed site alone; sums may be rounded differently in
the last bits. With equal streams, keys of no influence and an exact encryption plan there is no other difference.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.study.settings import PrivacyTerms

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="repeatable")


@pytest.mark.parametrize(
    ("method", "privacy", "participation", "scores"),
    [
        ("sapefl", None, 1.0, "open"),
        ("sapefl", PRIVATE, 1.0, "open"),
        ("sapefl", PRIVATE, 1.0, "hidden"),
        ("fedavg", None, 0.75, "open"),
        ("fedavg", None, 0.75, "hidden"),
        ("ditto", None, 1.0, "open"),
    ],
)
def test_personal_and_global_models_equal_the_simulators(
    world: Callable[..., Any], method: str, privacy: PrivacyTerms | None, participation: float, scores: str
) -> None:
    deployed = world(method=method, privacy=privacy, participation=participation, largest_site=42, scores=scores)
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


@pytest.mark.parametrize("method", ["fedavg", "sapefl"])
def test_with_shared_noise_the_common_model_is_the_simulators(world: Callable[..., Any], method: str) -> None:
    """Shares are keyed by site and round, sums are exact; only the gradients' last bits may differ, by a step or so."""
    deployed = world(method=method, privacy=PRIVATE, largest_site=42, dp_noise="shared", min_cohort=4)
    deployed.start_all()
    deployed.run()
    simulation = Simulation(assemble(deployed.file.config().model_copy(update={"workers": 0}), deployed.federation()))
    simulation.run()
    for name in deployed.file.sites:
        np.testing.assert_allclose(
            deployed.agents[name].state.theta_global, simulation.key_holders.theta_global, atol=1e-4
        )
    assert (simulation.key_holders.theta_global[-1], deployed.agents["north"].state.absorbed) == (3, 2)
