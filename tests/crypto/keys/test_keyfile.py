"""Key files open for their owner, whole and unread by others, or not at all."""

import base64
import json
import os
import stat
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto.errors import KeyRejected, ValueRejected
from sapefl_crypto.keys import keyfile
from sapefl_crypto.keys.keyfile import KeyRecord, Kind, Protection, inspect_key, passphrase, read_key, write_key
from sapefl_crypto.secret import Secret

CONTENT = b"the-content-nobody-may-see"
RECORD = KeyRecord(kind=Kind.COHORT_KEY, about={"study": "heart", "clients": 4, "bound": 8.0}, body=Secret(CONTENT))
SEALED = KeyRecord(kind=Kind.SEALED_COHORT_COPY, about={"site": "a"}, body=Secret(b"ciphertext"))
ENCODED_CONTENT = base64.b64encode(CONTENT[:24]).decode()
WORDS = passphrase("correct horse battery")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cohort.key"


@pytest.fixture
def written(path):
    write_key(path, RECORD)
    return path


@pytest.fixture
def cheap_scrypt(monkeypatch):
    monkeypatch.setattr(keyfile, "_SCRYPT_COST", 2)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def edit(path, **changes):
    document = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(document))


def test_round_trip(written):
    record = read_key(written, Kind.COHORT_KEY)
    assert (record.kind, record.about, record.body.reveal()) == (RECORD.kind, RECORD.about, CONTENT)


def test_round_trip_with_passphrase_at_full_cost(path):
    write_key(path, RECORD, passphrase=WORDS)
    assert read_key(path, Kind.COHORT_KEY, passphrase=WORDS).body.reveal() == CONTENT


facts = st.text(st.characters(exclude_categories=["C", "Z"])) | st.integers(-(2**70), 2**70) | st.floats(-1e300, 1e300)


@settings(max_examples=40)
@given(st.binary(max_size=300), st.dictionaries(st.sampled_from("abc"), facts), st.sampled_from(Kind), st.booleans())
def test_any_content_survives(tmp_path_factory, content, about, kind, protected):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyfile, "_SCRYPT_COST", 2)
        path = tmp_path_factory.mktemp("keys") / "k"
        words = WORDS if protected else None
        write_key(path, KeyRecord(kind=kind, about=about, body=Secret(content)), passphrase=words)
        record = read_key(path, kind, passphrase=words)
    assert (record.kind, record.about, record.body.reveal()) == (kind, about, content)


def test_a_stored_file_of_version_1_still_opens(path):
    body = "ZGVmZ2hpamtsbW5vcHFyc2RlZmdoaWprbG1ub/5Mte9Cfb+QMoUpbR57zt1Zys3DVxjBeTpprZmAc7oPwJPm+d9s/OoUng=="
    about = {"study": "heart", "clients": 4, "bound": 8.0}
    path.touch(0o600)
    opening = {"format": "sapefl-key-v1", "kind": "cohort-key", "about": about, "protection": "scrypt-aes256gcm"}
    path.write_text(json.dumps(opening | {"body": body}))
    assert read_key(path, Kind.COHORT_KEY, passphrase=WORDS).body.reveal() == CONTENT


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_secret_files_are_0600_whatever_the_umask(path, umask):
    before = os.umask(umask)
    try:
        write_key(path, RECORD)
    finally:
        os.umask(before)
    assert mode_of(path) == 0o600


def test_sealed_copies_are_for_sharing(path):
    write_key(path, SEALED)
    assert mode_of(path) == 0o644
    assert read_key(path, Kind.SEALED_COHORT_COPY).body.reveal() == b"ciphertext"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602, 0o610, 0o644, 0o660, 0o666, 0o700, 0o777])
def test_any_wider_mode_is_refused(written, mode):
    written.chmod(mode)
    for attempt in (lambda: read_key(written, Kind.COHORT_KEY), lambda: inspect_key(written)):
        with pytest.raises(KeyRejected, match=f"mode {mode:04o}.*chmod 600"):
            attempt()


def test_a_file_of_another_user_is_refused(written, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: written.stat().st_uid + 1)
    with pytest.raises(KeyRejected, match="another user"):
        read_key(written, Kind.COHORT_KEY)


def test_an_existing_file_stays(written):
    before = written.read_bytes()
    with pytest.raises(KeyRejected, match="exists and was not touched"):
        write_key(written, SEALED)
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_replacing_must_be_asked_for_and_resets_the_mode(written):
    written.chmod(0o666)
    write_key(written, RECORD, replace=True)
    assert mode_of(written) == 0o600
    assert read_key(written, Kind.COHORT_KEY).body.reveal() == CONTENT


def test_wrong_missing_and_needless_passphrases(path, tmp_path, written, cheap_scrypt):
    write_key(path.with_name("locked"), RECORD, passphrase=WORDS)
    for file, words, said in [
        ("locked", passphrase("wrong horse battery"), "passphrase is wrong"),
        ("locked", None, "protected by a passphrase"),
        (written.name, WORDS, "has no passphrase"),
    ]:
        with pytest.raises(KeyRejected, match=said) as caught:
            read_key(tmp_path / file, Kind.COHORT_KEY, passphrase=words)
        assert_says_nothing(caught.value)


def test_short_passphrases_are_refused():
    with pytest.raises(KeyRejected, match="8 characters"):
        passphrase("1234567")


def test_a_passphrase_is_the_same_on_every_keyboard():
    assert passphrase("caf\u00e9 caf\u00e9").reveal() == passphrase("cafe\u0301 cafe\u0301").reveal()


def test_another_kind_is_refused(written):
    with pytest.raises(KeyRejected, match="holds a cohort-key; a site-identity is needed"):
        read_key(written, Kind.SITE_IDENTITY)


@pytest.mark.parametrize("words", [None, WORDS])
@pytest.mark.parametrize(
    "change", [{"about": {"study": "lung"}}, {"about": {}}, {"kind": "site-identity"}, {"body": ""}, {"body": "AAAA"}]
)
def test_edited_files_do_not_open(path, cheap_scrypt, words, change):
    write_key(path, RECORD, passphrase=words)
    edit(path, **change)
    with pytest.raises(KeyRejected, match="does not open"):
        read_key(path, Kind(change.get("kind", RECORD.kind)), passphrase=words)


def test_protection_cannot_be_talked_away(path, cheap_scrypt):
    write_key(path, RECORD, passphrase=WORDS)
    edit(path, protection="none")
    with pytest.raises(KeyRejected, match="does not open"):
        read_key(path, Kind.COHORT_KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "sapefl-key-v2"},
        {"kind": "diary"},
        {"kind": ["cohort-key"]},
        {"protection": "rot13"},
        {"about": []},
        {"about": {"study": {"nested": 1}}},
        {"about": {"study": "\x1b[2J"}},
        {"about": {"bound": float("nan")}},
        {"about": {"bound": float("inf")}},
        {"about": {"study\n": "heart"}},
        {"body": "not base64!"},
        {"body": None},
        {"surplus": 1},
    ],
)
def test_malformed_files_are_refused(written, change):
    edit(written, **change)
    with pytest.raises(KeyRejected, match="not a key file of format") as caught:
        inspect_key(written)
    assert_says_nothing(caught.value)


@pytest.mark.parametrize("study", ["\x1b[2J", "line\nbreak", ["heart"], float("nan")])
def test_a_file_that_would_not_be_read_is_not_written(path, study):
    with pytest.raises(ValueRejected, match="printable"):
        write_key(path, KeyRecord(kind=Kind.COHORT_KEY, about={"study": study}, body=Secret(CONTENT)))
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"format"', b"9" * 10_000])
def test_other_files_are_refused(path, content):
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(KeyRejected, match="not a key file"):
        inspect_key(path)


def test_every_damaged_byte_is_noticed(written):
    whole = written.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x02
        written.write_bytes(damaged)
        if json_equal(bytes(damaged), whole):
            continue
        with pytest.raises(KeyRejected):
            read_key(written, Kind.COHORT_KEY)


def json_equal(one: bytes, other: bytes) -> bool:
    """Damage to white space between fields changes nothing that is said."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def test_the_label_is_readable_without_the_passphrase_and_says_no_secret(path, cheap_scrypt):
    write_key(path, RECORD, passphrase=WORDS)
    label = inspect_key(path)
    assert (label.kind, label.about, label.protection) == (RECORD.kind, RECORD.about, Protection.SCRYPT)
    assert CONTENT not in path.read_bytes()
    assert CONTENT.decode() not in repr(read_key(path, Kind.COHORT_KEY, passphrase=WORDS))


def assert_says_nothing(error):
    """Neither the shown traceback with locals, nor exceptions hidden behind it, carry content or passphrase."""
    chain = error
    while chain is not None:
        trace = traceback.TracebackException.from_exception(chain, capture_locals=True)
        shown = str([frame.locals for frame in trace.stack if "sapefl_crypto" in frame.filename]) + str(chain)
        assert not any(word in shown for word in (CONTENT.decode(), ENCODED_CONTENT, WORDS.reveal().decode()))
        chain = chain.__context__
