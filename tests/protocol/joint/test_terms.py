"""What everybody knows: the round's committee, its plan, and for whom things are sealed."""

from dataclasses import replace

from sapefl_crypto import Parameters, SiteIdentity
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.study import Study


def terms(sites: int, **changes: object) -> JointTerms:
    names = tuple(f"site-{number}" for number in range(sites))
    study = Study(
        name="s", sites=names, participation=0.5, seed=7, parameters=9, max_score=3.0, keys="joint", rounds=20
    )
    keys = {name: SiteIdentity.generate(name).public for name in names}
    plan = Parameters.joint(max_clients=study.cohort_size)
    nonces = {name: name.encode() for name in names}
    return JointTerms(study=replace(study, **changes), plan=plan, roster=keys, nonces=nonces)  # type: ignore[arg-type]


def test_few_sites_are_all_members_in_every_round() -> None:
    four = terms(4)
    for round_index in range(5):
        committee = four.committee(round_index)
        assert (committee.members, committee.threshold, committee.tolerated) == (four.study.sites, 3, 1)
        assert committee.fewest_senders == four.study.fewest_in_a_sum


def test_many_sites_draw_another_committee_each_round_by_seed_and_nonces() -> None:
    many = terms(40)
    drawn = [many.committee(round_index) for round_index in range(3)]
    assert {len(committee.members) for committee in drawn} == {31}
    assert len({committee.members for committee in drawn}) == 3
    assert many.committee(0) == drawn[0]
    nonces = {**many.nonces, "site-7": b"another"}
    assert replace(many, nonces=nonces).committee(0).members != drawn[0].members
    assert terms(40, seed=8).committee(0).members != drawn[0].members


def test_attempts_share_a_committee_and_nothing_else() -> None:
    four = terms(4)
    first, second = four.about(3), four.about(3, attempt=1)
    assert first.committee == second.committee
    assert first.occasion != second.occasion
    assert (first.length, first.max_score, first.study) == (9, 3.0, "s")
    assert four.moment(3, 1) == second.moment


def test_readers_are_lasting_keys() -> None:
    four = terms(4)
    assert four.readers == {name: keys.sealing for name, keys in four.roster.items()}
    assert list(four.readers_among(("site-2",))) == ["site-2"]
