"""Who takes part and who is whose peer: public, seeded, the same for everybody who computes it."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.protocol.study import Study, draw_cohort, readers_of

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


def test_the_cohort_is_drawn_once_a_round_and_not_once_a_site() -> None:
    study = Study(
        name="s",
        sites=tuple(map(str, range(60))),
        participation=0.5,
        seed=2**40 + 7,
        parameters=1,
        max_score=1.0,
        peers_per_client=3,
    )
    before = draw_cohort.cache_info().misses
    for site in study.cohort(5):
        study.peers_of(site, 5)
    assert draw_cohort.cache_info().misses == before + 1


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


def joint(**changes: object) -> Study:
    fields = {"name": "s", "sites": tuple("abcd"), "participation": 1.0, "seed": 0, "parameters": 1, "max_score": 1.0}
    return Study(**(fields | {"keys": "joint", "rounds": 4} | changes))  # type: ignore[arg-type]


def test_a_model_is_for_those_it_can_be_given_to_before_its_sender_makes_another() -> None:
    """Half of four sites a round, by hand from the draws: who is with the sender when it is drawn next."""
    study = joint(participation=0.5, rounds=30)
    for made in range(28):
        for place, sender in enumerate(study.sites):
            following = next((t for t in range(made + 1, 30) if place in study.cohort(t)), None)
            if following is not None:
                others = {study.sites[c] for c in study.cohort(following) if c != place}
                assert set(readers_of(study, sender, made)) == others


def test_the_last_models_are_for_those_who_come_late_too() -> None:
    study = joint(late=("z",))
    assert readers_of(study, "a", 2) == ("b", "c", "d"), "a makes another in round 3"
    assert readers_of(study, "a", 3) == ("b", "c", "d", "z")
    assert readers_of(study, "z", 3) == (), "a late site sends nothing"


def test_few_peers_means_few_readers() -> None:
    study = joint(peers_per_client=1, rounds=2)
    given = {sender: readers_of(study, sender, 0) for sender in study.sites}
    assert sum(map(len, given.values())) == 4, "each of four sites is given one model"
    assert study.is_given("b", "a", 0) == ("b" in given["a"])
    assert replace(study, keys="shared").is_given("b", "a", 0), "the cohort key opens all"


@given(studies, st.integers(0, 20))
def test_whoever_is_handed_a_fresh_model_can_open_it(study: Study, made: int) -> None:
    study = replace(study, keys="joint", rounds=22)
    for place in study.cohort(made):
        sender = study.sites[place]
        for reader in study.cohort(made + 1):
            if place in study.peers_of(reader, made + 1):
                assert study.is_given(study.sites[reader], sender, made)


def test_why_a_sum_is_not_made() -> None:
    shared, study = joint(keys="shared"), joint()
    assert shared.objection([5], 1) is None
    assert shared.objection([5, 5], 3) == "2 sites sent a score above 0, the study asks for 3 in a sum."
    assert study.objection([5, 5], 1) == "2 sites sent a score above 0, the study asks for 3 in a sum."
    assert study.objection([], 3) is None, "a sum of nothing shows nobody"
    assert study.objection([32, 32, 8], 1) is None
    uneven = study.objection([32, 3, 1], 1)
    assert uneven is not None, "without the 3, 32 of 33 are one site's"
    assert "more than 90%" in uneven
    assert shared.objection([32, 3, 1], 1) is None
