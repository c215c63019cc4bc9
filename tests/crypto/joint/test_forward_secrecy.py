"""When a round is over, everything a site still has on disk opens nothing of it, with all traffic at hand."""

import copy
import pickle

import numpy as np
import pytest

from sapefl_crypto import CryptoError, KeyRejected, SiteIdentity, TagRoot
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.field import RING_DEGREE
from sapefl_crypto.joint.round_key import SHARED_NUMBERS, share_context
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.shamir import read_share, value_at

SITES, LENGTH = 4, 60


@pytest.fixture
def updates() -> np.ndarray:
    return np.random.default_rng(7).normal(0, 0.02, (SITES, LENGTH)).astype(np.float32)


@pytest.fixture
def cohort(make_cohort, updates):
    cohort = make_cohort(SITES, length=LENGTH)
    cohort.send(updates, [0.7, 0.8, 0.9, 1.0])
    return cohort


def key_of(cohort, victim: str) -> np.ndarray:
    """The victim's key from recorded traffic and the sealing keys that sites have."""
    committee, shares = cohort.about.committee, {}
    for name in committee.members:
        context = share_context(cohort.about, victim, name)
        plain = cohort.sealing[name].unseal(cohort.uploads[victim].shares[name], context=context)
        share = read_share(plain, committee.point(name), threshold=committee.threshold, count=SHARED_NUMBERS)
        shares[committee.point(name)] = share[:RING_DEGREE]
    return value_at({point: shares[point] for point in list(shares)[: committee.threshold]}, 0)


def test_while_the_round_lasts_all_sites_together_could_read_one(cohort, attacker, updates) -> None:
    """The control."""
    assert attacker.part_read(cohort, "b", key_of(cohort, "b"), updates[1]) == 1.0


def test_when_it_is_over_all_disks_and_all_traffic_open_nothing(cohort) -> None:
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    answers = cohort.answers(aggregate, certificate)
    for name in cohort.names:
        cohort.sealing[name].erase()
        cohort.members[name].erase()
    on_disk = {name: SiteIdentity.from_secret(cohort.identities[name].export_secret()) for name in cohort.names}
    assert TagRoot.from_secret(cohort.root.export_secret()).fingerprint == cohort.root.fingerprint
    with pytest.raises(KeyRejected, match="erased"):
        key_of(cohort, "b")
    for name, identity in on_disk.items():
        sealed, context = cohort.uploads["b"].shares[name], share_context(cohort.about, "b", name)
        with pytest.raises(CryptoError):
            identity.unseal(sealed, context=context)
        as_sealing_key = SealingKey()
        as_sealing_key._private = identity._sealing  # a thief opens with a stolen key
        with pytest.raises(CryptoError, match="does not open"):
            as_sealing_key.unseal(sealed, context=context)
        for answer in answers:
            with pytest.raises(CryptoError):
                read_answer(answer, cohort.about, aggregate.claimed, sealing=as_sealing_key, reader=name)


def test_neither_sealing_keys_nor_round_keys_can_be_written_down(cohort) -> None:
    for secret in (cohort.sealing["a"], cohort.members["a"], cohort.root):
        assert "withheld" in repr(secret)
        with pytest.raises(TypeError):
            pickle.dumps(secret)
        with pytest.raises(TypeError):
            copy.deepcopy(secret)
    assert not [name for name in dir(SealingKey) if "export" in name or "secret" in name]
