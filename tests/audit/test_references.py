"""Reference worlds: every record in exactly half of them, and what an attacker holds of each."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from secure_sapefl import Config
from secure_sapefl.audit import references
from secure_sapefl.audit.parties import Update
from secure_sapefl.audit.references import GLOBAL, PERSONAL, UPDATE, in_the_open, models_seen, reference_worlds
from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import federation_of

THETA = torch.arange(3.0)


def test_what_a_party_could_make_out() -> None:
    party: Any = SimpleNamespace(site="a", theta_global=THETA, personal={}, updates={"b": Update(0, THETA, THETA + 1)})
    seen = {models.kind: models for models in models_seen(party, ("a", "b", "c"))}
    assert set(seen) == {GLOBAL, UPDATE}  # nobody sent a personal model
    assert list(seen[GLOBAL].by_site) == ["b", "c"]
    assert seen[UPDATE].stack(("b",)).tolist() == [[1, 2, 3]]


def test_a_run_in_the_open_differs_in_nothing_that_counts(small: Callable[..., Config]) -> None:
    config = small()
    opened = in_the_open(config)
    assert (opened.protection, opened.workers, opened.evaluate_every) == ("plaintext", 0, config.rounds)
    same = {"protection": config.protection, "workers": config.workers, "evaluate_every": config.evaluate_every}
    assert opened.model_copy(update=same) == config


def test_worlds_come_in_pairs_of_complements_each_with_a_seed_of_its_own(small: Callable[..., Config], monkeypatch):
    made: list[tuple[int, Federation]] = []
    real = references.RecordedRun

    def recorded(config: Config, federation: Federation) -> Any:
        made.append((config.seed, federation))
        return real(config, federation)

    monkeypatch.setattr(references, "RecordedRun", recorded)
    config = small(rounds=1)
    worlds = list(reference_worlds(config, federation_of(config), pairs=1, seed=5))
    assert len({seed for seed, _ in made}) == len(made) == 2
    for one, other in zip(made[0][1].clients, made[1][1].clients, strict=True):
        assert (one.train.X == other.test.X).all()
        assert (one.test.X == other.train.X).all()
        assert abs(len(one.train) - len(one.test)) <= 1
    assert all(set(world.models) == {GLOBAL, PERSONAL, UPDATE} for world in worlds)
