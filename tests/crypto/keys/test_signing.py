"""A signed frame counts once, where it was meant to, and only from whom it names."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import (
    VerifiedFrame,
    sign_document,
    sign_frame,
    verify_document,
    verify_frame,
    verify_signer,
)

SITE = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(64)) + b"hospital-a")
OTHER = SiteIdentity.generate("hospital-b")
ROSTER = {site.public.name: site.public for site in (SITE, OTHER)}
HERE = {"study": "heart", "round_index": 3, "kind": "upload"}
FRAME = sign_frame(SITE, b"payload", **HERE)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.binary(max_size=500), text, st.integers(0, 2**64 - 1), text)
def test_round_trip(payload, study, round_index, kind):
    where = {"study": study, "round_index": round_index, "kind": kind}
    framed = sign_frame(SITE, payload, **where)
    assert verify_frame(SITE.public, framed, **where) == payload
    assert verify_frame(ROSTER, framed, **where) == payload
    assert verify_signer(ROSTER, framed, **where) == VerifiedFrame(signer="hospital-a", payload=payload)


def test_known_answer():
    """Ed25519 is deterministic, so a change of format shows here."""
    assert FRAME.hex() == (
        "53505346010a0000000000000007686f73706974616c2d617061796c6f61644e4cdee2d5388a700fbaddf19fc41eb36c"
        "59e2f246e4fcb11feb259399139fad971a10ba007e6b88b36133b23292db0eaa63b374b058e99023eeb448d19a030b"
    )


@pytest.mark.parametrize("elsewhere", [{"study": "lung"}, {"round_index": 4}, {"kind": "aggregate"}])
def test_a_replay_elsewhere_is_refused(elsewhere):
    moved = HERE | elsewhere
    with pytest.raises(FrameRejected, match=rf"'hospital-a', {moved['kind']} frame, round {moved['round_index']}"):
        verify_frame(SITE.public, FRAME, **moved)


def test_study_and_kind_cannot_trade_letters():
    framed = sign_frame(SITE, b"", study="ab", round_index=0, kind="c")
    with pytest.raises(FrameRejected):
        verify_frame(SITE.public, framed, study="a", round_index=0, kind="bc")


def test_a_site_outside_the_roster_is_refused():
    for expected in (OTHER.public, {}, {"hospital-b": OTHER.public}):
        with pytest.raises(FrameRejected, match="not on the roster"):
            verify_frame(expected, FRAME, **HERE)


def test_another_key_under_a_known_name_is_refused():
    impostor = SiteIdentity.generate("hospital-a")
    with pytest.raises(FrameRejected, match="signature does not hold"):
        verify_frame(ROSTER, sign_frame(impostor, b"payload", **HERE), **HERE)


def test_a_frame_cannot_change_its_signer():
    with pytest.raises(FrameRejected, match="'hospital-b'"):
        verify_frame(ROSTER, FRAME.replace(b"hospital-a", b"hospital-b"), **HERE)


def test_the_same_key_under_two_names_signs_for_one():
    twin = SitePublicKeys(name="hospital-b", signing=SITE.public.signing, sealing=SITE.public.sealing)
    with pytest.raises(FrameRejected):
        verify_frame({"hospital-b": twin}, FRAME.replace(b"hospital-a", b"hospital-b"), **HERE)


def test_every_flipped_bit_is_noticed():
    for bit in range(8 * len(FRAME)):
        changed = bytearray(FRAME)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FrameRejected):
            verify_frame(ROSTER, bytes(changed), **HERE)


def test_every_truncation_and_extension_is_refused():
    for wrong in [*(FRAME[:end] for end in range(len(FRAME))), FRAME + b"\0", FRAME + FRAME]:
        with pytest.raises(FrameRejected):
            verify_frame(ROSTER, wrong, **HERE)


@pytest.mark.parametrize("place", [0, 4])
def test_a_foreign_format_is_named_as_such(place):
    changed = bytearray(FRAME)
    changed[place] = 9
    with pytest.raises(FrameRejected, match="not a signed frame of version 1"):
        verify_frame(ROSTER, bytes(changed), **HERE)


@pytest.mark.parametrize("length", [0, 6, 8, 2**32, 2**64 - 1])
def test_a_lying_length_is_refused(length):
    with pytest.raises(FrameRejected, match="promises"):
        verify_frame(ROSTER, FRAME[:6] + struct.pack(">Q", length) + FRAME[14:], **HERE)


def test_moving_the_border_between_name_and_payload_is_refused():
    shifted = struct.pack(">4sBBQ", b"SPSF", 1, 11, 6) + FRAME[14:]
    with pytest.raises(FrameRejected):
        verify_frame({"hospital-ap": SITE.public}, shifted, **HERE)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    for framed in (noise, b"SPSF\x01" + noise):
        with pytest.raises(FrameRejected):
            verify_frame(ROSTER, framed, **HERE)


def test_a_verified_frame_prints_its_signer_and_not_its_payload():
    assert repr(verify_signer(ROSTER, FRAME, **HERE)) == "VerifiedFrame(signer='hospital-a')"


def test_a_document_is_what_its_signer_signed_as_that_kind():
    signature = sign_document(SITE, b"terms", kind="study")
    verify_document(SITE.public, b"terms", signature, kind="study")
    for public, document, signed, kind in [
        (OTHER.public, b"terms", signature, "study"),
        (SITE.public, b"other terms", signature, "study"),
        (SITE.public, b"terms", signature, "consent"),
        (SITE.public, b"terms", signature[:-1], "study"),
        (SITE.public, b"terms", b"", "study"),
    ]:
        with pytest.raises(FrameRejected, match=f"does not hold for this {kind}"):
            verify_document(public, document, signed, kind=kind)


def test_a_signed_document_is_no_signed_frame():
    """Both are statements of one key; neither passes for the other."""
    with pytest.raises(FrameRejected):
        verify_document(SITE.public, b"payload", FRAME[-64:], kind="upload")
