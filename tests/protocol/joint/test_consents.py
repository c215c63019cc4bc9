"""Nonces are committed to before one is shown, and everybody must have seen the same commitments."""

from dataclasses import replace
from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.signing import sign_document
from secure_sapefl.protocol.joint.consents import (
    Call,
    Commitment,
    Opening,
    Settled,
    check_commitment,
    check_opening,
    commitment,
    digest_of,
    nonce_in,
    opening,
)
from secure_sapefl.site.joint.consents import SiteNonces

SITES = {name: SiteIdentity.generate(name) for name in "abc"}
ROSTER = {name: site.public for name, site in SITES.items()}
NONCES = {name: name.encode() * 32 for name in SITES}


def nonces(name: str, folder: Path) -> SiteNonces:
    (folder / name).mkdir(exist_ok=True)
    return SiteNonces(identity=SITES[name], study="s", roster=ROSTER, own=NONCES[name], folder=folder / name)


def committed() -> tuple[Commitment, ...]:
    return tuple(commitment(SITES[name], "s", NONCES[name]) for name in SITES)


def opened(seen: bytes | None = None) -> tuple[Opening, ...]:
    seen = digest_of(committed()) if seen is None else seen
    return tuple(opening(SITES[name], "s", NONCES[name], seen) for name in SITES)


def test_commit_show_settle(tmp_path: Path) -> None:
    site = nonces("a", tmp_path)
    assert site.answer(Call()) == committed()[0]
    assert site.answer(Call(commitments=committed())) == opened()[0]
    assert site.known == {}
    assert site.answer(Call(commitments=committed(), openings=opened())) == Settled(site="a")
    assert site.known == NONCES
    assert nonces("a", tmp_path).known == NONCES, "for good"


def test_a_commitment_tells_nothing_and_is_of_one_study() -> None:
    one = committed()[0]
    assert NONCES["a"] not in one.digest + one.signature
    with pytest.raises(FrameRejected):
        check_commitment(one, "another", ROSTER)
    with pytest.raises(FrameRejected, match="not on the roster"):
        check_commitment(replace(one, site="z"), "s", ROSTER)


def test_nobody_shows_a_nonce_before_all_have_committed(tmp_path: Path) -> None:
    with pytest.raises(FrameRejected, match="not those of all sites"):
        nonces("a", tmp_path).answer(Call(commitments=committed()[:2]))


def test_the_last_one_cannot_choose(tmp_path: Path) -> None:
    """c has seen a's and b's nonces, and would like another one than it committed to."""
    chosen = opening(SITES["c"], "s", b"z" * 32, digest_of(committed()))
    with pytest.raises(FrameRejected, match="'c': its nonce is not the one it committed to"):
        nonces("a", tmp_path).answer(Call(commitments=committed(), openings=(*opened()[:2], chosen)))


def test_a_server_that_shows_different_commitments_is_found(tmp_path: Path) -> None:
    site, other = nonces("a", tmp_path), commitment(SITES["c"], "s", b"z" * 32)
    site.answer(Call(commitments=committed()))
    with pytest.raises(FrameRejected, match="showed other commitments before"):
        site.answer(Call(commitments=(*committed()[:2], other)))
    commitments = {one.site: one for one in committed()}
    with pytest.raises(FrameRejected, match="'b' was shown other commitments"):
        check_opening(opened(bytes(32))[1], "s", ROSTER, commitments)


def test_a_commitment_in_ones_own_name_that_one_did_not_make(tmp_path: Path) -> None:
    forged = (commitment(SITES["a"], "s", b"q" * 32), *committed()[1:])
    with pytest.raises(FrameRejected, match="committed to another nonce"):
        nonces("a", tmp_path).answer(Call(commitments=forged))


def test_a_copied_commitment_is_opened_by_nothing() -> None:
    """c cannot have a's nonce without knowing it: what is committed to holds the name."""
    first, theirs = committed()[0], bind("s", committed()[0].digest)
    copied = Commitment(
        site="c", digest=first.digest, signature=sign_document(SITES["c"], theirs, kind="joint nonce commitment")
    )
    check_commitment(copied, "s", ROSTER)
    commitments = {"a": first, "b": committed()[1], "c": copied}
    shown = opening(SITES["c"], "s", NONCES["a"], digest_of(commitments.values()))
    with pytest.raises(FrameRejected, match="'c': its nonce is not the one it committed to"):
        check_opening(shown, "s", ROSTER, commitments)


def test_a_nonce_and_what_is_committed_to_differ_from_study_to_study() -> None:
    assert nonce_in("s", b"n" * 32) != nonce_in("t", b"n" * 32)
    assert commitment(SITES["a"], "s", b"n" * 32).digest != commitment(SITES["a"], "t", b"n" * 32).digest


def test_what_a_site_says_it_saw_is_under_its_own_signature() -> None:
    """b was shown other commitments and said so; the server cannot say otherwise for it."""
    forged = replace(opened(bytes(32))[1], seen=digest_of(committed()))
    with pytest.raises(FrameRejected, match="does not hold for this joint nonce"):
        check_opening(forged, "s", ROSTER, {one.site: one for one in committed()})


def test_a_nonce_of_another_length_is_none() -> None:
    short = commitment(SITES["c"], "s", b"c")
    commitments = {one.site: one for one in (*committed()[:2], short)}
    shown = opening(SITES["c"], "s", b"c", digest_of(commitments.values()))
    with pytest.raises(FrameRejected, match="'c': its nonce is not"):
        check_opening(shown, "s", ROSTER, commitments)


def test_whose_commitment_is_whose_counts() -> None:
    first, second, third = committed()
    swapped = (replace(first, digest=second.digest), replace(second, digest=first.digest), third)
    assert digest_of(swapped) != digest_of(committed())


def test_a_commitment_twice_or_of_the_servers_making_is_not_answered_with_a_nonce(tmp_path: Path) -> None:
    site, other = nonces("a", tmp_path), commitment(SITES["c"], "s", b"z" * 32)
    with pytest.raises(FrameRejected, match="each once"):
        site.answer(Call(commitments=(*committed(), other)))
    with pytest.raises(FrameRejected, match="does not hold for this joint nonce commitment"):
        site.answer(Call(commitments=(*committed()[:2], replace(other, signature=committed()[2].signature))))
