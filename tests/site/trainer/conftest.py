"""Sites of a study that carries code, with trainer processes that are real."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.site.trainer.carried import CarriedTraining
from secure_sapefl.site.trainer.process import TrainerProcess
from secure_sapefl.transport.users import OtherUser
from tests.carried_code import carried
from tests.deployed_study import FEATURES, World

Carrying = Callable[..., World]


@pytest.fixture
def carrying_world(world: Callable[..., World], tmp_path: Path) -> Carrying:
    """``carrying_world(source, rounds=1)``: a study whose sites share this code, declared as the honest model is."""

    def build(source: str | None = None, **fields: Any) -> World:
        features = tuple(Numeric(name=f"x{i}", low=-5, high=5) for i in range(FEATURES))
        data = TableSchema(label="y", classes=("no", "yes"), features=features).model_dump()
        return world(**carried(tmp_path, data, source, head=fields.get("head")), **fields)

    return build


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Callable[..., CarriedTraining]]:
    """``real(deployed, "north")``: training in a process of its own, which ends with the test."""
    made: list[CarriedTraining] = []
    kept = tmp_path / "site"
    kept.mkdir()
    (kept / "identity.key").write_text("a key")

    def start(deployed: World, name: str) -> CarriedTraining:
        made.append(CarriedTraining(deployed.terms, deployed.rows[name], lambda: TrainerProcess(kept, OtherUser())))
        return made[-1]

    yield start
    for one in made:
        one.close()
