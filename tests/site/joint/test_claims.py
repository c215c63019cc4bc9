"""One claim a round, in the ledger before the signature, whatever happens to the process."""

from dataclasses import replace

import pytest

from sapefl_crypto import Parameters, SiteIdentity
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.occasion import JointRound
from secure_sapefl.site.joint.claims import SignedClaims
from tests.deployed_study import Notes

SITES = {name: SiteIdentity.generate(name).public for name in "abc"}
ABOUT = JointRound(
    plan=Parameters.joint(max_clients=3),
    committee=Committee(members=("a", "b", "c"), threshold=2, tolerated=1),
    roster=SITES,
    study="s",
    round_index=4,
    length=10,
)
ONE, OTHER = bytes(32), bytes(31) + b"\1"


def test_the_digest_is_in_the_ledger_once_and_another_is_refused() -> None:
    ledger = Notes()
    claims = SignedClaims(ledger, "digest")
    for _ in range(2):
        claims.enter(ABOUT, ONE)
    (event,) = ledger.events("signed")
    assert (event.study, event.round_index, event.message, event.digest) == ("digest", 4, "claim, update", ONE.hex())
    with pytest.raises(AggregateRejected, match="has signed another claim of this round"):
        claims.enter(ABOUT, OTHER)


def test_attempts_share_the_entry_and_rounds_and_purposes_do_not() -> None:
    claims = SignedClaims(Notes(), "digest")
    claims.enter(ABOUT, ONE)
    with pytest.raises(AggregateRejected):
        claims.enter(replace(ABOUT, attempt=1), OTHER)
    claims.enter(replace(ABOUT, round_index=5), OTHER)
    claims.enter(replace(ABOUT, purpose="statistics"), OTHER)


def test_it_is_remembered_across_a_crash_for_this_study_alone() -> None:
    ledger = Notes()
    SignedClaims(ledger, "digest").enter(ABOUT, ONE)
    with pytest.raises(AggregateRejected):
        SignedClaims(ledger, "digest", tuple(ledger)).enter(ABOUT, OTHER)
    SignedClaims(ledger, "another", tuple(ledger)).enter(ABOUT, OTHER)


def test_a_full_disk_means_that_nothing_is_signed() -> None:
    ledger = Notes()
    ledger.full = True
    claims = SignedClaims(ledger, "digest")
    with pytest.raises(OSError, match="No space"):
        claims.enter(ABOUT, ONE)
    ledger.full = False
    claims.enter(ABOUT, OTHER)
