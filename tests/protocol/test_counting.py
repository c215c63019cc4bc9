"""Rounds of counts: the integers themselves, and never over too few sites."""

import numpy as np
import pytest

from sapefl_crypto import ClaimPolicy, CohortKey, Parameters
from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.adders import encrypted_adder
from secure_sapefl.protocol.answer import protect
from secure_sapefl.protocol.counting import MOST_SITES, counting_study, counts_answer, opened_totals
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.messages import RoundOutcome
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.sums import Counts, counts_of, limbs_of

PARAMS = Parameters.exact(max_clients=5)
KEY = CohortKey.generate(PARAMS)
LARGEST = (1 << 44) - 1
SITES = tuple(f"s{k}" for k in range(5))


def asked(entries: int, least: int = 2, name: str = "t") -> Study:
    return counting_study(name, SITES, entries=entries, least=least)


def outcome_of(counts: dict[str, Counts], study: Study) -> RoundOutcome:
    server = Server(study, lambda index: encrypted_adder(PARAMS, study, index), {})
    server.begin_round(0)
    for site, one in counts.items():
        assert server.accept(protect(counts_answer(one, site, study, PARAMS), CkksCodec(KEY), study, 0))
    return server.close_round()


def test_the_total_is_the_sum_to_the_last_unit() -> None:
    """The twin: integers added in the clear, the largest among them."""
    rng = np.random.default_rng(0)
    counts = {site: rng.integers(0, LARGEST, 700) for site in SITES}
    counts["s0"][:3] = (0, 1, LARGEST)
    study = asked(700)
    totals = opened_totals(outcome_of(counts, study), CkksCodec(KEY), study, PARAMS)
    assert np.array_equal(totals, sum(counts.values()))


def test_limbs_of_the_most_sites_survive_too() -> None:
    params = Parameters.exact(max_clients=MOST_SITES)
    counts = np.random.default_rng(0).integers(0, LARGEST >> 4, (MOST_SITES, 50))
    mean = np.mean([limbs_of(one, params).astype(np.float64) for one in counts], axis=0).astype(np.float32)
    assert np.array_equal(counts_of(mean, MOST_SITES, params), counts.sum(axis=0))
    with pytest.raises(BadInput, match="at most 2,048"):
        counting_study("t", tuple(f"s{k}" for k in range(MOST_SITES + 1)), entries=1, least=2)


def test_no_sum_over_too_few_sites_is_made_or_opened() -> None:
    few, study = {name: np.arange(3) for name in SITES[:2]}, asked(3, least=3)
    refused = outcome_of(few, study)
    assert opened_totals(refused, CkksCodec(KEY), study, PARAMS) is None
    assert "the study asks for 3 in a sum" in refused.refusals[0].reason
    forged = outcome_of(few, asked(3))
    with pytest.raises(AggregateRejected, match="minimum cohort"):
        opened_totals(forged, CkksCodec(KEY, ClaimPolicy(min_cohort=3)), study, PARAMS)


@pytest.mark.parametrize("counts", [np.array([-1, 0]), np.array([1 << 48, 0]), np.array([1])])
def test_counts_that_cannot_be_are_refused(counts: np.ndarray) -> None:
    with pytest.raises(BadInput, match="expected 2 counts"):
        counts_answer(counts, "a", asked(2), PARAMS)


def test_a_sum_of_another_occasion_is_refused() -> None:
    outcome = outcome_of({name: np.arange(2) for name in SITES}, asked(2))
    with pytest.raises(AggregateRejected):
        opened_totals(outcome, CkksCodec(KEY), asked(2, name="another"), PARAMS)
