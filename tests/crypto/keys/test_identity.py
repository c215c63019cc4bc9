"""A site's keys: public ones travel by e-mail, private ones are never said aloud."""

import base64
import copy
import io
import logging
import pickle
import traceback

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.pretty import pretty_repr
from rich.traceback import Traceback

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.secret import Secret

SITE = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(32)) + bytes(range(32, 64)) + b"hospital-a")
OTHER = SiteIdentity.generate("hospital-b")
PRIVATE = (bytes(range(32)), bytes(range(32, 64)))
TEXT = (
    "sapefl-site-v1:hospital-a:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg1gHLWNliA0a7qMprfkSE4OFHtIaKOO3XpZdDSzRZiVA"
    ":96bd-7b0c"
)

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)


def says_a_secret(text: str) -> bool:
    spellings = [f(key) for key in PRIVATE for f in (repr, bytes.hex, lambda raw: raw[8:24].decode("latin-1"))]
    return any(spelling.strip("b'") in text for spelling in spellings)


def test_the_detector_of_secrets_detects():
    assert says_a_secret(str(SITE.export_secret()))
    assert says_a_secret(SITE.export_secret().hex())


def test_known_text_and_fingerprint():
    assert SITE.public.to_text() == TEXT
    assert SITE.public.fingerprint == "96bd-7b0c-4014-be8f-411b-66ca-9f95-2ae3"
    assert SitePublicKeys.from_text(TEXT) == SITE.public


@given(names)
def test_public_text_round_trip(name):
    keys = SiteIdentity.generate(name).public
    assert SitePublicKeys.from_text(keys.to_text()) == keys


@given(st.sets(st.integers(1, len(TEXT) - 1)))
def test_mail_programs_may_wrap_the_text(breaks):
    wrapped = "".join(("\r\n " if place in breaks else "") + letter for place, letter in enumerate(TEXT))
    assert SitePublicKeys.from_text(f"\n{wrapped}\n") == SITE.public


@given(st.integers(0, len(TEXT) - 1), st.characters(min_codepoint=33, max_codepoint=126))
def test_every_wrong_letter_is_noticed(place, letter):
    mistyped = TEXT[:place] + letter + TEXT[place + 1 :]
    if mistyped != TEXT:
        with pytest.raises(KeyRejected):
            SitePublicKeys.from_text(mistyped)


@given(st.text())
def test_other_texts_are_no_public_key(text):
    with pytest.raises(KeyRejected):
        SitePublicKeys.from_text(text)
    with pytest.raises(KeyRejected):
        SitePublicKeys.from_text("sapefl-site-v1:a:" + text)


def test_every_cut_is_noticed():
    for end in range(len(TEXT)):
        with pytest.raises(KeyRejected, match=r"again|site name"):
            SitePublicKeys.from_text(TEXT[:end])


@pytest.mark.parametrize("name", ["", "..", "-rf", "a/b", "a b", "a:b", "ä", "x" * 65, "a\n", "a\0"])
def test_names_that_could_be_paths_or_puzzles_are_refused(name):
    with pytest.raises(KeyRejected, match="no site name"):
        SiteIdentity.generate(name)


def test_the_name_is_part_of_the_fingerprint():
    renamed = SitePublicKeys(name="hospital-c", signing=SITE.public.signing, sealing=SITE.public.sealing)
    assert renamed.fingerprint != SITE.public.fingerprint


def test_secret_round_trip():
    again = SiteIdentity.from_secret(OTHER.export_secret())
    assert again.public == OTHER.public
    assert again.export_secret() == OTHER.export_secret()


@pytest.mark.parametrize("change", [lambda s: s[:-10], lambda s: b"X" + s[1:], lambda s: s + b"/", lambda s: b""])
def test_damaged_secrets_are_refused_without_saying_them(change):
    with pytest.raises(KeyRejected, match="no site identity") as caught:
        SiteIdentity.from_secret(change(SITE.export_secret()))
    assert not says_a_secret(locals_of(caught.value))


@given(st.binary(max_size=500), st.binary(max_size=50))
def test_seal_round_trip(data, context):
    assert SITE.unseal(SITE.public.seal_for(data, context=context), context=context) == data


def test_sealed_secrets_open_for_one_site_and_one_context():
    blob = SITE.public.seal_for(b"cohort key", context=b"heart")
    for identity, context in [(OTHER, b"heart"), (SITE, b"lung"), (SITE, b"")]:
        with pytest.raises(KeyRejected, match=identity.public.fingerprint):
            identity.unseal(blob, context=context)


def test_a_renamed_site_is_another_recipient():
    renamed = SitePublicKeys(name="hospital-c", signing=SITE.public.signing, sealing=SITE.public.sealing)
    with pytest.raises(KeyRejected):
        SITE.unseal(renamed.seal_for(b"x", context=b""), context=b"")


@given(st.data())
def test_every_flipped_bit_of_a_sealed_secret_is_noticed(data):
    blob = bytearray(SITE.public.seal_for(b"cohort key", context=b"heart"))
    bit = data.draw(st.integers(0, 8 * len(blob) - 1))
    blob[bit // 8] ^= 1 << bit % 8
    with pytest.raises(KeyRejected):
        SITE.unseal(bytes(blob), context=b"heart")


@given(st.binary(max_size=200))
def test_noise_is_no_sealed_secret(noise):
    with pytest.raises(KeyRejected):
        SITE.unseal(noise, context=b"heart")


def test_sealing_twice_gives_different_blobs():
    assert SITE.public.seal_for(b"x", context=b"") != SITE.public.seal_for(b"x", context=b"")


P = 2**255 - 19
ORDER_EIGHT = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
OTHER_ORDER_EIGHT = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
LOW_ORDER_X25519 = [  # RFC 7748, section 6.1, and https://cr.yp.to/ecdh.html#validate
    *(number.to_bytes(32, "little") for number in (0, 1, P - 1, P, P + 1)),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


def with_sign(point):
    return point[:-1] + bytes([point[-1] | 0x80])


@pytest.mark.parametrize("point", [*LOW_ORDER_X25519, *map(with_sign, LOW_ORDER_X25519)], ids=bytes.hex)
def test_sealing_keys_of_low_order_are_refused(point):
    with pytest.raises(KeyRejected, match="anybody could open"):
        SitePublicKeys(name="a", signing=SITE.public.signing, sealing=point)


SMALL_ORDER = [*(y.to_bytes(32, "little") for y in (0, 1, P - 1, P, P + 1)), ORDER_EIGHT, OTHER_ORDER_EIGHT]


@pytest.mark.parametrize("point", [*SMALL_ORDER, *map(with_sign, SMALL_ORDER)], ids=bytes.hex)
def test_signing_keys_of_small_order_or_spelt_twice_are_refused(point):
    with pytest.raises(KeyRejected, match="anybody could sign"):
        SitePublicKeys(name="a", signing=point, sealing=SITE.public.sealing)


def test_without_that_check_one_signature_would_fit_every_message():
    """What the refusal is for: OpenSSL verifies (identity, 0) under the identity point, whatever the message."""
    identity_point = b"\1" + bytes(31)
    for message in (b"pay", b"do not pay"):
        Ed25519PublicKey.from_public_bytes(identity_point).verify(identity_point + bytes(32), message)


def test_the_points_of_order_eight_are_each_others_negatives():
    assert sum(int.from_bytes(point, "little") for point in (ORDER_EIGHT, OTHER_ORDER_EIGHT)) == P


def test_a_bad_key_is_found_when_its_text_is_read():
    raw = base64.urlsafe_b64encode(b"\1" + bytes(31) + SITE.public.sealing).decode().rstrip("=")
    with pytest.raises(KeyRejected, match="anybody could sign"):
        SitePublicKeys.from_text(f"sapefl-site-v1:a:{raw}:0000-0000")


def test_verify_returns_or_raises():
    SITE.public.verify(SITE.sign(b"m"), b"m")
    for keys, signature, message in [
        (OTHER.public, SITE.sign(b"m"), b"m"),
        (SITE.public, SITE.sign(b"m"), b"n"),
        (SITE.public, b"", b"m"),
    ]:
        with pytest.raises(InvalidSignature):
            keys.verify(signature, message)


GUARDED = [SITE, Secret(SITE.export_secret())]


def locals_of(error: BaseException) -> str:
    frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack[1:]
    assert frames
    return "\n".join(value for frame in frames for value in frame.locals.values())


@pytest.mark.parametrize("guarded", GUARDED)
def test_no_spelling_of_a_private_object_says_the_secret(guarded):
    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.warning("%s %r", guarded, guarded)
    said = [repr(guarded), str(guarded), f"{guarded}", f"{[guarded]}", pretty_repr(guarded), stream.getvalue()]
    assert not any(says_a_secret(text) for text in said)
    assert "withheld" in stream.getvalue()
    assert not hasattr(guarded, "__dict__")


@pytest.mark.parametrize("guarded", GUARDED)
@pytest.mark.parametrize(
    "attempt", [copy.copy, copy.deepcopy, *(lambda o, p=p: pickle.dumps(o, p) for p in range(pickle.HIGHEST_PROTOCOL))]
)
def test_private_objects_are_not_copied_or_pickled(guarded, attempt):
    with pytest.raises(TypeError, match="not pickled or copied") as caught:
        attempt(guarded)
    assert not says_a_secret(str(caught.value))


def test_tracebacks_with_locals_do_not_say_the_secret():
    try:
        SITE.unseal(b"junk", context=b"heart")
    except KeyRejected as error:
        console = Console(file=io.StringIO(), record=True, width=200)
        console.print(Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True))
        shown = console.export_text() + locals_of(error)
    assert "junk" in shown
    assert not says_a_secret(shown)
