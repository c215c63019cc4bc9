"""What is demanded of a claim before it is signed or opened."""

from dataclasses import replace

import pytest

from sapefl_crypto import AggregateRejected, Claim, ClaimPolicy
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.frames import read_manifest, signed_part
from sapefl_crypto.joint.policy import JointPolicy, largest_honest_share

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


def changed_claim(claimed: JointClaim, **changes) -> JointClaim:
    first, *others = claimed.claim
    return replace(claimed, claim=Claim((replace(first, **changes), *others)))


def test_a_claim_of_too_few_senders_is_refused_by_members_and_readers(make_cohort, vectors) -> None:
    """With two colluders tolerated, three senders may be one honest site."""
    cohort = make_cohort(5, threshold=4, tolerated=2)
    cohort.send(vectors[:5], SCORES)
    few = cohort.aggregate(["a", "b", "c"])
    with pytest.raises(AggregateRejected, match="At least 4"):
        cohort.members["a"].endorse(few.claimed)
    with pytest.raises(AggregateRejected, match="minimum cohort"):
        cohort.open(few, None, [])
    cohort.members["a"].endorse(cohort.aggregate(["a", "b", "c", "d"]).claimed)


def test_colluders_that_do_not_sit_may_still_send(make_cohort, vectors) -> None:
    """One colluder on the committee, three among all sites: five senders are asked for, not three."""
    cohort = make_cohort(6, members=4, threshold=3)
    about = replace(cohort.about, committee=replace(cohort.about.committee, colluders=3))
    assert (cohort.about.committee.fewest_senders, about.committee.fewest_senders) == (3, 5)
    assert about.occasion.committee_digest != cohort.about.occasion.committee_digest
    cohort.send(vectors[:4], SCORES[:4])
    with pytest.raises(AggregateRejected, match="At least 5"):
        JointPolicy().check(about, cohort.aggregate().claimed)


def test_the_largest_honest_share_by_hand() -> None:
    """Without the heaviest other (10) the heaviest (20) has 20 of 20 + 5 + 5."""
    assert largest_honest_share([5, 20, 10, 5], 1) == pytest.approx(20 / 30)
    assert largest_honest_share([1, 32, 32], 1) == pytest.approx(32 / 33)


def test_a_sum_that_is_nearly_one_sites_is_refused(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    cohort.send(vectors, [1.0, 1.0, 0.04, 0.04])
    with pytest.raises(AggregateRejected, match="maximum share"):
        cohort.members["a"].endorse(cohort.aggregate().claimed)


def test_a_members_other_rules_count_too(make_cohort, vectors) -> None:
    cohort = make_cohort(4, policy=JointPolicy(rules=ClaimPolicy(min_effective_cohort=3.9)))
    cohort.send(vectors, SCORES[:4])
    with pytest.raises(AggregateRejected, match="effective cohort"):
        cohort.members["a"].endorse(cohort.aggregate().claimed)


def test_a_site_looks_for_its_own_frame(make_cohort, vectors) -> None:
    cohort = make_cohort(5)
    cohort.send(vectors[:5], SCORES)
    own = read_manifest(signed_part(cohort.uploads["a"].frame), cohort.about)
    policy, without = JointPolicy(own=own), cohort.aggregate(["b", "c", "d", "e"]).claimed
    whole = cohort.aggregate().claimed
    policy.check(cohort.about, whole)
    with pytest.raises(AggregateRejected, match="left out"):
        policy.check(cohort.about, without)
    replace(policy, own_may_be_left_out=True).check(cohort.about, without)
    for changes, said in (({"weight": 15}, "that frame"), ({"nonce": bytes(16)}, "another frame")):
        with pytest.raises(AggregateRejected, match=said):
            policy.check(cohort.about, changed_claim(whole, **changes))
