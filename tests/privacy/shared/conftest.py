"""A plan with numbers one can follow, and a group of sites that have paid for a step of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import Parameters
from secure_sapefl import Config
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.ledger import MemoryStore
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.form import releases
from secure_sapefl.privacy.shared.mechanism import SharedGroup
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.privacy.shared.terms import SharedTerms


@pytest.fixture
def plan() -> Callable[..., SharedPlan]:
    def make(**changes: Any) -> SharedPlan:
        fields: dict[str, Any] = {
            "budget": Budget(2.0, 1e-5),
            "parties": Parties(11, 1),
            "unit": "record",
            "steps": 20,
            "charged": 20,
            "rate": 0.25,
            "clip": 1.0,
            "lr": 0.5,
            "optimizer": "momentum",
            "units": 480,
            "most_units": 60,
            "sites": 12,
        }
        return SharedPlan(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def numbers() -> Parameters:
    return Parameters.exact(max_clients=12)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(12)


@pytest.fixture
def paid_group(plan: Callable[..., SharedPlan], numbers: Parameters) -> Callable[..., SharedGroup]:
    """Sites that have paid for a step, drawing from streams keyed by their place."""

    def make(sites: int, parameters: int, seed: int = 0, **changes: Any) -> SharedGroup:
        made = plan(**changes)
        terms = SharedTerms(
            study="s",
            plan=made,
            releases=releases(NoOptions(), 1),
            carriage=Carriage.for_plan(made, parameters, numbers),
            secure_noise=False,
        )
        paid = tuple(terms.site(f"site-{g}", 40, MemoryStore()).pay(0) for g in range(sites))
        return terms.group(
            (40,) * sites, paid, lambda _: [KeyedRandomness(np.random.default_rng((seed, g))) for g in range(sites)]
        )

    return make


@pytest.fixture(scope="session")
def config() -> Callable[..., Config]:
    """Twelve small sites, a second or less."""

    def make(**changes: Any) -> Config:
        fields: dict[str, Any] = {
            "clients": 12,
            "rounds": 5,
            "kappa": 5.0,
            "participation": 1.0,
            "local_epochs": 1,
            "protection": "plaintext",
            "workers": 0,
            "method": "fedavg",
            "evaluate_every": 100,
            "dp_noise": "shared",
            "dp_epsilon": 4.0,
            "dp_delta": 1e-5,
            "data_options": {"rows": 480, "classes": 3, "flip_y": 0.0},
        }
        return Config(**(fields | changes))

    return make
