"""The measured epsilon beside the claimed one, for the site where a record weighs most."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from secure_sapefl import Config
from secure_sapefl.audit import epsilon
from secure_sapefl.audit.canaries import CanaryRun
from secure_sapefl.audit.epsilon import empirical_epsilon, mechanisms_of
from secure_sapefl.audit.mechanisms import Bench
from secure_sapefl.audit.recording import RecordedRun
from secure_sapefl.data import Rows
from secure_sapefl.engine.assembly import federation_of


def canaries(privacy: dict[str, float] | None) -> CanaryRun:
    included = np.random.default_rng(0).random(100) < 0.5
    result: Any = SimpleNamespace(privacy=privacy)
    return CanaryRun(scores=included.astype(float), included=included, result=result)


def test_what_is_claimed_is_what_the_ledgers_say() -> None:
    found = empirical_epsilon(canaries({"epsilon_max": 3.5, "epsilon_max_replace_one": 7.0}), (), 1e-6)
    assert (found.claimed, found.replaced, found.delta) == (3.5, 7.0, 1e-6)
    assert found.lower.epsilon > 2  # every canary was told apart


def test_a_run_that_promised_nothing_is_measured_all_the_same() -> None:
    found = empirical_epsilon(canaries(None), (), None)
    assert (found.claimed, found.delta) == (None, 1e-5)
    assert found.lower.epsilon > 2


def test_mechanisms_are_tried_at_the_smallest_site_that_can_take_part(
    small: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(dp_epsilon=4.0, dp_delta=1e-5, batch_size=10)
    made = federation_of(config)
    sizes = (30, 9, 12, 40)  # nine rows fill no batch
    clients = tuple(
        replace(client, train=Rows(client.train.X[:size], client.train.y[:size]))
        for client, size in zip(made.clients, sizes, strict=True)
    )
    benches: list[Bench] = []
    monkeypatch.setattr(epsilon, "audit_mechanisms", lambda bench: benches.append(bench) or ())
    terms = RecordedRun(config, made).terms
    mechanisms_of(config, replace(made, clients=clients), terms, 7, 8, seed=9)
    (bench,) = benches
    assert len(bench.rows) == 12
    assert bench.entries == 2  # a cohort of three has two peers
    assert (bench.trainings, bench.queries, bench.seed) == (7, 8, 9)


def test_a_run_that_is_not_private_has_no_mechanism(small: Callable[..., Config]) -> None:
    config = small()
    federation = federation_of(config)
    assert mechanisms_of(config, federation, RecordedRun(config, federation).terms, 1, 1, seed=0) == ()
