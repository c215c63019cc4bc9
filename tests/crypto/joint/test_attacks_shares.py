"""Anybody can seal a share for a member. The sender's signature over its shares keeps the server from doing so."""

import numpy as np
import pytest

from sapefl_crypto import FrameRejected
from sapefl_crypto.joint import member as member_module
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, combined
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.round_key import fresh_secret, share_context
from sapefl_crypto.joint.sealing import seal
from sapefl_crypto.joint.shamir import DealtShares

VICTIM, OTHERS = "b", "acd"


class Anything:
    def __ne__(self, other: object) -> bool:
        return False


@pytest.fixture
def updates() -> np.ndarray:
    return np.random.default_rng(8).normal(0, 0.02, (4, 50)).astype(np.float32)


@pytest.fixture
def cohort(make_cohort, updates):
    """Frames are in, shares are still with the server, which is to pass them on."""
    cohort = make_cohort(4, length=50)
    cohort.uploads = {name: cohort.upload(name, updates[at], 0.8) for at, name in enumerate(cohort.names)}
    return cohort


def of_the_servers_making(cohort, sender: str, secret: np.ndarray) -> dict[str, bytes]:
    committee = cohort.about.committee
    dealt = DealtShares(secret, threshold=committee.threshold, members=len(committee.members))
    return {
        name: seal(cohort.sealing[name].public, plain, context=share_context(cohort.about, sender, name))
        for name, plain in zip(committee.members, dealt.plain(), strict=True)
    }


def deliver(cohort, sender: str, shares) -> None:
    for name in cohort.about.committee.members:
        cohort.members[name].receive(signed_part(cohort.uploads[sender].frame), shares[name])


def test_shares_of_the_servers_making_would_open_one_site(
    cohort, attacker, updates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim, certificate and answers are all as they should be; only the keys of the others are the server's."""
    monkeypatch.setattr(member_module, "digest", lambda _: Anything())
    known = {sender: fresh_secret() for sender in OTHERS}
    for sender in OTHERS:
        deliver(cohort, sender, of_the_servers_making(cohort, sender, known[sender]))
    deliver(cohort, VICTIM, cohort.uploads[VICTIM].shares)
    weights = cohort.aggregate().claimed.claim.weights
    total = attacker.opened_key(cohort, "a")
    rest = [(known[sender][:RING_DEGREE], -weights[sender]) for sender in OTHERS]
    inverse = pow(weights[VICTIM], -1, PRIME)
    key = combined((numbers, factor * inverse) for numbers, factor in [(total, 1), *rest])
    assert attacker.part_read(cohort, VICTIM, key, updates[1]) == 1.0


def test_members_take_only_what_the_sender_signed(cohort) -> None:
    with pytest.raises(FrameRejected, match="not the one the sender signed"):
        deliver(cohort, "a", of_the_servers_making(cohort, "a", fresh_secret()))
