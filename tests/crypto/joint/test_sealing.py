"""Sealing keys of one round, and messages for several readers."""

import os

import pytest

from sapefl_crypto import FrameRejected, KeyRejected, SiteIdentity
from sapefl_crypto.joint.occasion import Moment
from sapefl_crypto.joint.sealing import (
    LastingKey,
    SealingKey,
    announced,
    open_from_many,
    readers_of,
    seal,
    seal_for_many,
)

MOMENT = Moment(study="s", round_index=3)
KEYS = {name: SealingKey() for name in "abc"}
READERS = {name: key.public for name, key in KEYS.items()}


def test_only_the_key_and_context_it_was_sealed_for_open_it() -> None:
    blob = seal(KEYS["a"].public, b"data", context=b"here")
    assert KEYS["a"].unseal(blob, context=b"here").reveal() == b"data"
    for key, context in ((KEYS["b"], b"here"), (KEYS["a"], b"there")):
        with pytest.raises(FrameRejected, match="does not open"):
            key.unseal(blob, context=context)


def test_an_erased_key_opens_nothing() -> None:
    key = SealingKey()
    blob = seal(key.public, b"data", context=b"")
    key.erase()
    with pytest.raises(KeyRejected, match="erased"):
        key.unseal(blob, context=b"")


def test_an_announcement_is_the_sites_and_of_this_moment() -> None:
    site, key = SiteIdentity.generate("a"), SealingKey()
    announcement = key.announcement(site, MOMENT)
    assert announced(site.public, announcement, MOMENT) == key.public
    for other in (
        Moment(study="t", round_index=3),
        Moment(study="s", round_index=4),
        Moment(study="s", round_index=3, attempt=1),
    ):
        with pytest.raises(FrameRejected, match="does not hold"):
            announced(site.public, announcement, other)
    with pytest.raises(FrameRejected, match="does not hold"):
        announced(site.public, SealingKey().public + announcement[32:], MOMENT)
    with pytest.raises(FrameRejected, match="no usable"):
        announced(site.public, bytes(32) + announcement[32:], MOMENT)


def test_every_reader_opens_one_message_and_nobody_else() -> None:
    blob = seal_for_many(READERS, b"data", context=b"here")
    assert all(open_from_many(key, name, blob, context=b"here") == b"data" for name, key in KEYS.items())
    with pytest.raises(FrameRejected, match="not sealed for 'd'"):
        open_from_many(SealingKey(), "d", blob, context=b"here")
    with pytest.raises(FrameRejected, match="does not open"):
        open_from_many(SealingKey(), "a", blob, context=b"here")
    with pytest.raises(FrameRejected, match="does not open"):
        open_from_many(KEYS["a"], "a", blob, context=b"there")


def test_altered_messages_do_not_open() -> None:
    blob = seal_for_many(READERS, os.urandom(50), context=b"")
    for at in range(len(blob)):
        changed = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
        with pytest.raises(FrameRejected):
            open_from_many(KEYS["b"], "b", changed, context=b"")
        with pytest.raises(FrameRejected):
            open_from_many(KEYS["b"], "b", blob[:at], context=b"")


def test_a_lasting_key_opens_what_was_sealed_for_its_identity() -> None:
    site = SiteIdentity.generate("d")
    blob = seal_for_many(READERS | {"d": site.public.sealing}, b"data", context=b"here")
    again = LastingKey(SiteIdentity.from_secret(site.export_secret()))
    assert readers_of(blob) == ("a", "b", "c", "d")
    assert open_from_many(again, "d", blob, context=b"here") == b"data"
    with pytest.raises(FrameRejected, match="cannot open"):
        open_from_many(again, "a", blob, context=b"here")
    with pytest.raises(KeyRejected, match="cannot open"):
        site.unseal(seal(site.public.sealing, b"data", context=b"here"), context=b"here")
