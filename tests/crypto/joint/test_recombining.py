"""Missing and wrong answers, wrong dealers: what opens, what stays closed, and who is named."""

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected
from sapefl_crypto.joint import member as member_module
from sapefl_crypto.joint import round_key
from sapefl_crypto.joint.answers import sealed_answer
from sapefl_crypto.joint.field import PRIME
from sapefl_crypto.joint.shamir import DealtShares

SITES, THRESHOLD = 7, 4
SCORES = [0.5, 1.0, 0.7, 0.9, 0.8, 0.6, 0.75]


@pytest.fixture
def cohort(make_cohort):
    return make_cohort(SITES, threshold=THRESHOLD)


def round_of(cohort, vectors):
    cohort.send(vectors[:SITES], SCORES)
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    return aggregate, certificate, dict(zip(cohort.names, cohort.answers(aggregate, certificate), strict=True))


def lying(cohort, aggregate, name: str, spoil) -> bytes:
    """An answer, properly sealed and signed, with other numbers in it."""
    numbers = cohort.members[name]._numbers(aggregate.claimed).copy()  # a liar starts from the true numbers
    spoil(numbers)
    readers = {site: key.public for site, key in cohort.sealing.items()}
    return sealed_answer(cohort.about, aggregate.claimed, cohort.identities[name], readers, numbers)


def one_more(numbers) -> None:
    numbers[5] = (int(numbers[5]) + 1) % PRIME


def test_any_threshold_of_members_opens_and_one_fewer_does_not(cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    whole = cohort.open(aggregate, certificate, list(answers.values())).mean
    for members in ("abcd", "defg", "bdfg", "aceg"):
        mean = cohort.open(aggregate, certificate, [answers[name] for name in members], reader="g").mean
        assert np.array_equal(mean, whole)
    with pytest.raises(AggregateRejected, match="3 members answered, 4 are needed; the sum stays closed"):
        cohort.open(aggregate, certificate, [answers[name] for name in "abc"])


def test_the_same_answer_twice_is_one_answer(cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    with pytest.raises(AggregateRejected, match="3 members answered"):
        cohort.open(aggregate, certificate, [answers[name] for name in "abca"])


def test_a_wrong_answer_is_found_and_its_author_named(cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    whole = cohort.open(aggregate, certificate, list(answers.values())).mean
    answers["c"] = lying(cohort, aggregate, "c", one_more)
    opened = cohort.open(aggregate, certificate, list(answers.values()))
    assert opened.complaints == ("the answer of 'c' is wrong",)
    assert np.array_equal(opened.mean, whole)


def test_with_one_spare_answer_a_liar_is_found_by_doing_without_each_and_two_are_not(cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    whole = cohort.open(aggregate, certificate, list(answers.values())).mean
    answers["c"] = lying(cohort, aggregate, "c", one_more)
    opened = cohort.open(aggregate, certificate, [answers[name] for name in "abcde"])
    assert opened.complaints == ("the answer of 'c' is wrong, or what was dealt to it; or two others lie",)
    assert np.array_equal(opened.mean, whole)
    answers["d"] = lying(cohort, aggregate, "d", lambda numbers: one_more(numbers[1:]))
    with pytest.raises(AggregateRejected, match="ask more members"):
        cohort.open(aggregate, certificate, [answers[name] for name in "abcde"])


def test_without_a_spare_answer_the_tags_find_it(cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    answers["c"] = lying(cohort, aggregate, "c", one_more)
    with pytest.raises(AggregateRejected, match="not its key"):
        cohort.open(aggregate, certificate, [answers[name] for name in "abcd"])


def test_answers_that_amount_to_no_key_are_refused(cohort, vectors) -> None:
    aggregate, certificate, _ = round_of(cohort, vectors)
    zero = [lying(cohort, aggregate, name, lambda numbers: numbers.fill(0)) for name in "abcde"]
    with pytest.raises(AggregateRejected, match="amount to no key"):
        cohort.open(aggregate, certificate, zero)


def test_a_dealer_whose_shares_fit_no_key_is_named(cohort, vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(secret, *, threshold: int, members: int) -> DealtShares:
        dealt = DealtShares(secret, threshold=threshold, members=members)
        for vector in dealt._vectors:  # altered before they are sealed
            vector[:] = vector[::-1].copy()
        return dealt

    honest = round_key.DealtShares
    for name, vector, score in zip(cohort.names, vectors, SCORES, strict=False):
        monkeypatch.setattr(round_key, "DealtShares", spoilt if name == "d" else honest)
        cohort.uploads[name] = cohort.upload(name, vector, score)
        cohort.deliver(name)
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    with pytest.raises(AggregateRejected, match="shares that d dealt fit no key"):
        cohort.open(aggregate, certificate, cohort.answers(aggregate, certificate))


def test_a_dealer_who_spoils_one_share_is_named_beside_the_member_it_blames(
    cohort, vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the dealer or the member lies nobody else can tell; the round opens without that answer."""
    cohort.send(vectors[:SITES], SCORES)
    aggregate = cohort.aggregate()
    one_more(cohort.members["f"]._shares["d"])  # as if its dealer had sealed it so
    certificate = cohort.certify(aggregate)
    opened = cohort.open(aggregate, certificate, cohort.answers(aggregate, certificate))
    assert opened.complaints == ("the answer of 'f' is wrong, or what d dealt to it",)
    assert opened.mean is not None


def test_what_an_answer_says_of_a_dealers_share_is_hidden_by_a_one_time_pad(cohort, vectors) -> None:
    """Two masks that differ by d give combinations that differ by d: every value is as likely as any other."""
    cohort.send(vectors[:SITES], SCORES)
    claimed = cohort.aggregate().claimed
    share = cohort.members["a"]._shares["b"]  # which a member shows nobody
    again = share.copy()
    again[-2:] = [3, 5]
    first, second = (member_module.masked_combinations(claimed, row[None])[0] for row in (share, again))
    moved = [(int(a) - int(b)) % PRIME for a, b in zip(first, second, strict=True)]
    assert moved == [(int(share[-2]) - 3) % PRIME, (int(share[-1]) - 5) % PRIME]
