"""Rows an attacker asks about."""

from dataclasses import replace

import numpy as np

from secure_sapefl.audit.candidates import Candidates, all_rows, candidates_of, with_rows
from secure_sapefl.data import Federation, Rows
from secure_sapefl.tasks.builtin import CLASSIFICATION


def test_halves_are_exact_complements(federation: Federation) -> None:
    client = federation.clients[0]
    half = np.arange(120) % 2 == 0
    one, other = with_rows(client, half), with_rows(client, ~half)
    assert np.array_equal(one.train.X, other.test.X)
    assert len(one.train) + len(other.train) == len(all_rows(client))


def test_padding_and_population_are_not_asked_about(federation: Federation) -> None:
    short = replace(federation.clients[0], train=Rows(np.ones((5, 20), np.float32), np.zeros(5, np.int64)))
    uneven = replace(federation, clients=(short, *federation.clients[1:]))
    found: Candidates = candidates_of(uneven, CLASSIFICATION, np.random.default_rng(0))
    assert found.asked.sum(1).tolist() == [65, 120, 120, 120]
    assert found.member.sum(1).tolist() == [5, 60, 60, 60]
    assert not (found.asked & found.population).any()
