"""Who takes part and who is whose peer: public, seeded, the same for everybody who computes it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.protocol.study import Study

studies = st.builds(
    lambda sites, participation, seed, peers: Study(
        name="s",
        sites=tuple(f"site-{c}" for c in range(sites)),
        participation=participation,
        seed=seed,
        parameters=1,
        max_score=1.0,
        peers_per_client=peers,
    ),
    st.integers(1, 40),
    st.floats(0.01, 1.0),
    st.integers(0, 2**40),
    st.none() | st.integers(1, 50),
)


@given(studies, st.integers(0, 1000))
def test_a_cohort_is_a_seeded_sample_without_repetition(study: Study, round_index: int) -> None:
    cohort = study.cohort(round_index)
    assert len(cohort) == study.cohort_size == len(set(cohort))
    assert cohort == tuple(sorted(cohort)) == study.cohort(round_index)
    assert 1 <= len(cohort) <= len(study.sites)
    assert abs(len(cohort) - study.participation * len(study.sites)) < 1


@given(studies, st.integers(0, 50))
def test_nobody_is_their_own_peer_and_nobody_gets_more_than_asked(study: Study, round_index: int) -> None:
    cohort = study.cohort(round_index)
    for site in cohort:
        peers = study.peers_of(site, round_index)
        assert site not in peers
        assert set(peers) <= set(cohort)
        assert len(peers) == min(len(cohort) - 1, study.peers_per_client or math.inf)


def test_seven_tenths_of_ten_sites_are_seven() -> None:
    """0.7 * 10 is 7.000000000000001 in floating point, which must not become eight."""
    study = Study(name="s", sites=tuple("abcdefghij"), participation=0.7, seed=0, parameters=1, max_score=1.0)
    assert study.cohort_size == 7


def test_rounds_and_seeds_draw_differently() -> None:
    def cohorts(seed: int) -> list[tuple[int, ...]]:
        sites = tuple(str(c) for c in range(30))
        study = Study(name="s", sites=sites, participation=0.5, seed=seed, parameters=1, max_score=1.0)
        return [study.cohort(t) for t in range(5)]

    assert len(set(cohorts(0))) == 5
    assert cohorts(0) != cohorts(1)
