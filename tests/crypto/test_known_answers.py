"""Bytes written by an earlier version must keep their meaning (vectors/make.py says how they came to be)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import Aggregate, Aggregator, CohortKey, HiddenAggregator

VECTORS = Path(__file__).parent / "vectors"
ABOUT = {"study": "known answers", "round_index": 7}


@pytest.fixture(scope="module")
def stored_key() -> CohortKey:
    return CohortKey.from_secret((VECTORS / "cohort.key").read_bytes())


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return json.loads((VECTORS / "answers.json").read_text())


@pytest.fixture
def weighted(stored_key: CohortKey) -> Aggregate:
    agg = Aggregator(stored_key.params, **ABOUT, length=5, max_score=4.0)
    agg.add((VECTORS / "a.frame").read_bytes(), 1.0)
    agg.add((VECTORS / "b.frame").read_bytes(), 3.0)
    return agg.finish()


@pytest.fixture
def hidden(stored_key: CohortKey) -> Aggregate:
    agg = HiddenAggregator(stored_key.params, **ABOUT, length=5)
    for sender in ("a", "b"):
        agg.add((VECTORS / f"{sender}.hidden").read_bytes())
    return agg.finish()


def test_the_stored_key_is_read_as_it_was_written(stored_key: CohortKey, answers: dict[str, Any]) -> None:
    assert stored_key.fingerprint == answers["fingerprint"]
    assert stored_key.params.digest.hex() == answers["params_digest"]
    assert stored_key.export_secret() == (VECTORS / "cohort.key").read_bytes()


@pytest.mark.parametrize("kind", ["weighted", "hidden"])
def test_stored_frames_still_add_up_to_the_same_bytes_and_numbers(
    stored_key: CohortKey, answers: dict[str, Any], kind: str, request: pytest.FixtureRequest
) -> None:
    aggregate: Aggregate = request.getfixturevalue(kind)
    assert aggregate.digest == answers["digests"][kind]
    mean = stored_key.decrypt(aggregate, **ABOUT)
    assert mean is not None
    assert mean == pytest.approx(answers["means"][kind], rel=2.0**-23, abs=1e-12)
    by_hand = [-0.5, -0.25, 2.28125, -4.0, 7.5e-4]  # (1·a + 3·b) / 4
    assert mean == pytest.approx(by_hand, abs=1e-6)


def test_a_stored_envelope_still_opens(stored_key: CohortKey) -> None:
    opened = stored_key.open((VECTORS / "a.sealed").read_bytes(), **ABOUT, sender="a")
    assert np.array_equal(opened, np.array([1.0, -2.5, 0.125, 8.0, 0.0], np.float32))
