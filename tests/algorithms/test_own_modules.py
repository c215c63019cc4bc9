"""Every method trains a module of one's own: encrypted or not, with a budget or without."""

from typing import Any

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from tests.models.conftest import Residual

FIELDS: dict[str, Any] = {
    "clients": 3,
    "rounds": 2,
    "local_epochs": 1,
    "participation": 1.0,
    "batch_size": 8,
    "workers": 0,
    "head": "fc",
    "partition": "iid",
    "data_options": {"rows": 90, "flip_y": 0.0, "classes": 3},
}
BUDGET = {"dp_epsilon": 8.0, "dp_delta": 1e-3}


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("protection", "budget"),
    [("plaintext", {}), ("ckks", {}), ("ckks", BUDGET), pytest.param("plaintext", BUDGET, marks=pytest.mark.slow)],
    ids=["plaintext", "ckks", "ckks-budget", "plaintext-budget"],
)
@pytest.mark.parametrize("method", sorted(ALGORITHMS))
def test_a_module_with_dropout(method: str, protection: str, budget: dict[str, float]) -> None:
    def build(about: Any) -> Residual:
        return Residual(about, dropout=0.2)

    config = Config(method=method, protection=protection, **FIELDS, **budget)
    simulation = Simulation(assemble(config, model=build))
    start = simulation.key_holders.theta_global.clone()
    result = simulation.run()
    assert not any(record.refusals for record in result.rounds)
    assert result.accuracy.mean == result.accuracy.mean  # a number
    assert (result.privacy is None) == (not budget)
    moved = [values for name, values in simulation.tensors().items() if name.startswith("theta")]
    assert any(not (values == start[: values.shape[-1]]).all() for values in moved)
