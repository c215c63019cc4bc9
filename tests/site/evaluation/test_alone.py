"""A site that trains alone: the simulator's local-only site, kept for the rows it was trained on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.site.evaluation import alone


def test_it_is_the_simulators_local_site_whatever_the_study_is_private_about(
    world: Callable[..., Any], tmp_path: Path
) -> None:
    from tests.deployed_study import PRIVATE

    deployed, told = world(rounds=2, privacy=PRIVATE, largest_site=42), []
    rows = deployed.rows["east"]
    theta = alone.kept_or_trained(tmp_path / "alone.npz", deployed.terms, rows, lambda *at: told.append(at))
    assert told == [(1, 2), (2, 2)]
    config = deployed.file.config().model_copy(update={"workers": 0, "method": "local", "dp_epsilon": None})
    simulation = Simulation(assemble(config, deployed.federation()))
    simulation.run()
    place = deployed.file.index("east")
    np.testing.assert_allclose(theta, simulation.assembly.sites.state["theta_personal"][place], atol=2e-5)
    assert np.array_equal(alone.kept_or_trained(tmp_path / "alone.npz", deployed.terms, rows), theta)
    assert (tmp_path / "alone.npz").stat().st_mode & 0o077 == 0
    assert len(told) == 2
