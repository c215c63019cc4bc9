"""The server adds with what the study's scores ask for, made anew for every round."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import Aggregator, HiddenAggregator
from secure_sapefl.protocol.adders import encrypted_adder, plaintext_adder
from secure_sapefl.protocol.plaintext import PlaintextAdder, PlaintextHiddenAdder

Bench = Any  # of conftest.py


def test_the_kind_follows_from_protection_and_scores(bench_of: Callable[[str], Bench]) -> None:
    bench = bench_of("plaintext")
    params, opened, hidden = bench.protection.params, bench.study, replace(bench.study, scores="hidden")
    assert isinstance(encrypted_adder(params, opened, 0), Aggregator)
    assert isinstance(encrypted_adder(params, hidden, 0), HiddenAggregator)
    assert isinstance(plaintext_adder(params, opened, 0), PlaintextAdder)
    assert isinstance(plaintext_adder(params, hidden, 0), PlaintextHiddenAdder)


def mean(bench: Bench, scores: str, given: dict[str, float]) -> Any:
    """Of updates full of 1 and of 3, by a and b; sites weigh 1 to 2 themselves where scores are hidden."""
    study = replace(bench.study, scores=scores)
    adder, about = bench.protection.adders(study)(3), {"study": "s", "round_index": 3}
    for site, value, own in (("a", 1.0, 1.0), ("b", 3.0, 2.0)):
        vector = np.full(20, value, np.float32)
        frame = (
            bench.codec.encrypt(vector, **about, sender=site)
            if scores == "open"
            else bench.codec.encrypt_weighted(vector, score=own, max_score=study.max_score, **about, sender=site)
        )
        adder.add(frame, given[site], sender=site)
    return bench.codec.decrypt(adder.finish().to_bytes(), **about)


@pytest.mark.parametrize("given", [{"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 0.0}], ids=["told", "not told"])
def test_where_scores_are_hidden_what_the_server_says_weighs_nothing(bench: Bench, given: dict[str, float]) -> None:
    np.testing.assert_allclose(mean(bench, "hidden", given), np.full(20, 7 / 3), atol=1e-3)


def test_where_they_are_open_the_server_weighs(bench: Bench) -> None:
    np.testing.assert_allclose(mean(bench, "open", {"a": 1.0, "b": 2.0}), np.full(20, 7 / 3), atol=1e-3)
    np.testing.assert_allclose(mean(bench, "open", {"a": 1.0, "b": 1.0}), np.full(20, 2.0), atol=1e-3)
