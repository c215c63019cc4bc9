"""One cohort for all crypto tests: making a key is cheap, but one is enough."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from sapefl_crypto import Aggregator, CohortKey, Parameters

Vector = npt.NDArray[np.float32]


@pytest.fixture(scope="session")
def params() -> Parameters:
    return Parameters(max_clients=10)


@pytest.fixture(scope="session")
def key(params: Parameters) -> CohortKey:
    return CohortKey.generate(params)


@pytest.fixture
def aggregator(params: Parameters) -> Callable[..., Aggregator]:
    def make(length: int, *, study: str = "s", round_index: int = 3, max_score: float = 1.0) -> Aggregator:
        return Aggregator(params, study=study, round_index=round_index, length=length, max_score=max_score)

    return make
