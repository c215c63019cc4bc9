"""A sum travels with what opens it, and opens for whoever its answers were sealed for."""

from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.joint.sealing import LastingKey

SCORES = [0.5, 1.0, 0.7, 0.9]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(4, attempt=2)
    cohort.send(vectors, SCORES)
    return cohort


def openable(cohort) -> OpenableSum:
    """Answers are sealed for identities, as a study does it: who was away can read them later."""
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    everybody = {name: identity.public.sealing for name, identity in cohort.identities.items()}
    answers = [member.answer(aggregate.claimed, certificate, everybody) for member in cohort.members.values()]
    return OpenableSum(aggregate=aggregate, certificate=certificate, answers=tuple(answers))


def test_it_opens_after_its_journey_for_every_site(cohort, make_cohort, vectors) -> None:
    whole = openable(cohort)
    again = OpenableSum.from_bytes(whole.to_bytes())
    assert again == whole
    expected = make_cohort(4).run(vectors[:4], SCORES)
    for key in cohort.sealing.values():
        key.erase()
    for name, identity in cohort.identities.items():
        opened = again.open(
            lambda attempt: replace(cohort.about, attempt=attempt), reader=name, key=LastingKey(identity),
            root=cohort.root,
        )  # fmt: skip
        assert np.array_equal(opened.mean, expected)
        assert opened.complaints == ()


def test_a_sum_of_nothing_needs_no_certificate(cohort) -> None:
    aggregate = cohort.aggregate()
    empty = replace(aggregate, claimed=replace(aggregate.claimed, claim=type(aggregate.claimed.claim)()), payload=b"")
    again = OpenableSum.from_bytes(OpenableSum(aggregate=empty).to_bytes())
    assert again.certificate is None
    key = LastingKey(cohort.identities["a"])
    assert again.open(lambda _: cohort.about, reader="a", key=key, root=cohort.root).mean is None


def test_damage_is_refused(cohort) -> None:
    data = openable(cohort).to_bytes()
    for kept in (*range(0, 400, 7), len(data) - 1):
        with pytest.raises(AggregateRejected):
            OpenableSum.from_bytes(data[:kept])
    with pytest.raises(AggregateRejected, match="disagree"):
        OpenableSum.from_bytes(data + b"x")
    with pytest.raises(AggregateRejected, match="not a sum to be opened"):
        OpenableSum.from_bytes(b"SPJO\x02" + data[5:])
