"""Members sign one acceptable claim, and answer it when enough others have."""

from dataclasses import replace

import pytest

from sapefl_crypto import AggregateRejected, Claim, ClaimPolicy, FrameRejected, ValueRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.frames import read_manifest, signed_part
from sapefl_crypto.joint.member import MemoryLedger
from sapefl_crypto.joint.policy import JointPolicy, largest_honest_share
from sapefl_crypto.joint.round_key import share_context
from sapefl_crypto.joint.sealing import seal

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


def changed_claim(claimed: JointClaim, **changes) -> JointClaim:
    first, *others = claimed.claim
    return replace(claimed, claim=Claim((replace(first, **changes), *others)))


@pytest.mark.parametrize(("members", "tolerated", "quorum"), [(4, 0, 3), (4, 1, 3), (4, 2, 4), (7, 3, 6), (15, 5, 11)])
def test_no_two_claims_can_both_have_a_quorum(members: int, tolerated: int, quorum: int) -> None:
    names = tuple(map(str, range(members)))
    committee = Committee(members=names, threshold=max(tolerated + 1, 2), tolerated=tolerated)
    assert committee.quorum == quorum
    assert 2 * quorum > (members - tolerated) + 2 * tolerated


@pytest.mark.parametrize(
    ("members", "threshold", "tolerated"),
    [(("a",), 1, 0), (("a", "a"), 1, 0), (("a", "b"), 3, 0), (("a", "b"), 1, 1), (("a", "b"), 0, -1)],
)
def test_committees_that_protect_nothing_are_refused(members, threshold: int, tolerated: int) -> None:
    with pytest.raises(ValueRejected):
        Committee(members=members, threshold=threshold, tolerated=tolerated)


def test_a_committee_must_be_on_the_roster(cohort) -> None:
    with pytest.raises(ValueRejected, match="'z', which is not on the roster"):
        replace(cohort.about, committee=replace(cohort.about.committee, members=("a", "b", "z")))


def test_a_member_signs_one_claim_a_round_and_the_same_one_again(cohort) -> None:
    first, second = cohort.aggregate().claimed, cohort.aggregate(["a", "b", "c", "d"]).claimed
    member = cohort.members["a"]
    assert member.endorse(first) == member.endorse(first)
    with pytest.raises(AggregateRejected, match="signed another claim"):
        member.endorse(second)


def test_a_member_that_came_back_or_begins_another_attempt_is_held_to_its_ledger(make_cohort, vectors) -> None:
    ledger = MemoryLedger()
    for attempt in (0, 1):
        cohort = make_cohort(5, attempt=attempt)
        cohort.members["a"] = cohort.member("a", ledger)
        cohort.send(vectors[:5], SCORES)
        claimed = cohort.aggregate().claimed
        if attempt == 0:
            cohort.members["a"].endorse(claimed)
        else:
            with pytest.raises(AggregateRejected, match="signed another claim"):
                cohort.members["a"].endorse(claimed)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weight": 17}, "another weight"),
        ({"nonce": bytes(16)}, "another weight or frame"),
        ({"sender": "z"}, "no share of 'z'"),
        ({"sender": "b"}, "counted twice"),
        ({"weight": 33}, "between 1 and 32"),
    ],
)
def test_claims_that_are_not_what_senders_signed_are_refused(cohort, changes, said: str) -> None:
    claimed = changed_claim(cohort.aggregate().claimed, **changes)
    with pytest.raises(AggregateRejected, match=said):
        cohort.members["b"].endorse(claimed)


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


def test_no_answer_without_a_quorum_on_exactly_this_claim(cohort) -> None:
    aggregate = cohort.aggregate()
    claimed, certificate = aggregate.claimed, cohort.certify(aggregate)
    two = Certificate(digest=claimed.digest, signatures={n: certificate.signatures[n] for n in "ab"})
    strangers = {"e": certificate.signatures["a"], "f": certificate.signatures["b"]}
    swapped = {"a": certificate.signatures["a"], "b": certificate.signatures["a"], "c": certificate.signatures["b"]}
    for bad in (two, replace(two, signatures=two.signatures | strangers), replace(two, signatures=swapped)):
        with pytest.raises(AggregateRejected, match="3 are needed"):
            cohort.members["a"].answer(claimed, bad)
        with pytest.raises(AggregateRejected, match="certificate"):
            cohort.open(aggregate, bad, [])
    other = cohort.aggregate(["a", "b", "c", "d"])
    with pytest.raises(AggregateRejected, match="another claim"):
        cohort.members["a"].answer(other.claimed, certificate)
    with pytest.raises(AggregateRejected, match="comes without one"):
        cohort.open(aggregate, None, [])


def test_an_empty_claim_is_not_signed_and_says_unchanged(cohort) -> None:
    empty = replace(cohort.aggregate(), claimed=replace(cohort.aggregate().claimed, claim=Claim()), payload=b"")
    with pytest.raises(AggregateRejected, match="needs no committee"):
        cohort.members["a"].endorse(empty.claimed)
    assert cohort.open(empty, None, []).mean is None


def test_a_share_of_the_servers_making_is_refused(cohort) -> None:
    """Anybody can seal for a member. Were such shares taken, the server would open sums that no claim names."""
    forged = seal(cohort.sealing["a"].public, bytes(32), context=share_context(cohort.about, "b", "a"))
    assert cohort.sealing["a"].unseal(forged, context=share_context(cohort.about, "b", "a")).reveal() == bytes(32)
    with pytest.raises(FrameRejected, match="not the one the sender signed"):
        cohort.members["a"].receive(signed_part(cohort.uploads["b"].frame), forged)


def test_a_share_for_another_member_or_of_another_round_is_refused(cohort, make_cohort, vectors) -> None:
    frame, shares = signed_part(cohort.uploads["b"].frame), cohort.uploads["b"].shares
    with pytest.raises(FrameRejected, match="not the one the sender signed"):
        cohort.members["a"].receive(frame, shares["c"])
    later = make_cohort(5, members=4, threshold=3, round_index=4)
    with pytest.raises(FrameRejected, match="another round"):
        later.members["a"].receive(frame, shares["a"])


def test_two_frames_of_one_sender_are_told_apart(cohort, vectors) -> None:
    second = cohort.upload("b", vectors[6], 0.5)
    with pytest.raises(FrameRejected, match="signed two frames"):
        cohort.members["a"].receive(signed_part(second.frame), second.shares["a"])


def test_a_member_without_a_senders_share_does_not_sign(cohort, vectors, make_cohort) -> None:
    late = make_cohort(5, members=4, threshold=3)
    late.send(vectors[:4], SCORES[:4])
    late.uploads["e"] = late.upload("e", vectors[4], 0.5)
    with pytest.raises(AggregateRejected, match="no share of 'e'"):
        late.members["a"].endorse(late.aggregate().claimed)


def test_an_erased_member_has_nothing_to_answer_with(cohort) -> None:
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    kept = list(cohort.members["a"]._shares.values())  # what a member forgets is nobody's to ask for
    cohort.members["a"].erase()
    assert not any(share.any() for share in kept)
    with pytest.raises(AggregateRejected, match="no share"):
        cohort.members["a"].answer(aggregate.claimed, certificate)


def test_only_members_are_members(cohort) -> None:
    with pytest.raises(ValueRejected, match="'e' is not on this round's committee"):
        cohort.member("e")
