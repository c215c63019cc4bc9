"""Key files: who they belong to in the open, the key itself guarded by file mode and, if wanted, a passphrase.

A key file is a JSON object, so that its owner can see what it is:

    format      "sapefl-key-v1"
    kind        "site-identity", "cohort-key" or "sealed-cohort-copy"
    about       public facts: names, fingerprints, parameters
    protection  "none" or "scrypt-aes256gcm"
    body        base64 of
                  none:              content, then SHA-256 of everything, against accidents
                  scrypt-aes256gcm:  16 bytes of salt, 12 of nonce, ciphertext and tag

With a passphrase, everything in the open is associated data. scrypt's cost is fixed by the format (RFC 7914;
N = 2^17, r = 8, p = 1, as OWASP recommends), not read from the file, so that no file can ask for more memory.
"""

import base64
import hashlib
import hmac
import json
import math
import os
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeGuard

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import KeyRejected, ValueRejected
from sapefl_crypto.keys import safe_file
from sapefl_crypto.secret import Secret

_FORMAT: Final = "sapefl-key-v1"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_DIGEST_BYTES: Final = 32
_SCRYPT_COST: Final = 2**17
_SHORTEST_PASSPHRASE: Final = 8

About = Mapping[str, str | int | float]


class Kind(StrEnum):
    SITE_IDENTITY = "site-identity"
    COHORT_KEY = "cohort-key"
    SEALED_COHORT_COPY = "sealed-cohort-copy"

    @property
    def is_secret(self) -> bool:
        return self is not Kind.SEALED_COHORT_COPY


class Protection(StrEnum):
    NONE = "none"
    SCRYPT = "scrypt-aes256gcm"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key and what may be said about it."""

    kind: Kind
    about: About
    body: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLabel:
    """What a key file says in the open. Believe it only after `read_key`."""

    kind: Kind
    about: About
    protection: Protection

    @property
    def bound(self) -> bytes:
        return bind("sapefl key file", self.kind.value, canonical(self.about), self.protection.value)


def passphrase(text: str) -> Secret:
    """A passphrase as key files use it: Unicode-normalised, so that every keyboard spells it alike."""
    if len(text) < _SHORTEST_PASSPHRASE:
        raise KeyRejected(f"The passphrase has fewer than {_SHORTEST_PASSPHRASE} characters; use several words.")
    return Secret(unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass"))


def canonical(about: About) -> bytes:
    return json.dumps(dict(about), sort_keys=True, separators=(",", ":")).encode()


def write_key(path: Path, record: KeyRecord, *, passphrase: Secret | None = None, replace: bool = False) -> None:
    """Write ``record``, mode 0600 if it is secret; an existing file stays unless ``replace`` says otherwise."""
    if not _is_about(record.about):
        raise ValueRejected("Facts about a key are short printable texts and numbers; choose a plainer name.")
    protection = Protection.NONE if passphrase is None else Protection.SCRYPT
    label = KeyLabel(kind=record.kind, about=record.about, protection=protection)
    body = _with_digest(label, record.body) if passphrase is None else _encrypt(label, record.body, passphrase)
    mode = safe_file.PRIVATE if label.kind.is_secret else safe_file.PUBLIC
    safe_file.write(path, _render(label, body), mode=mode, replace=replace)


def read_key(path: Path, kind: Kind, *, passphrase: Secret | None = None) -> KeyRecord:
    """The key in ``path``, if it is of this ``kind``, undamaged, private to its owner and the passphrase fits."""
    label, body = _open(path)
    if label.kind is not kind:
        raise KeyRejected(f"{path} holds a {label.kind}; a {kind} is needed here. Name the other file.")
    if label.protection is Protection.NONE and passphrase is not None:
        raise KeyRejected(f"{path} has no passphrase; read it without one, or write it again with one.")
    if label.protection is Protection.SCRYPT and passphrase is None:
        raise KeyRejected(f"{path} is protected by a passphrase; give it.")
    content = _without_digest(label, body) if passphrase is None else _decrypt(label, body, passphrase)
    if content is None:
        cause = "it is damaged" if passphrase is None else "the passphrase is wrong, or the file is damaged"
        raise KeyRejected(f"{path} does not open: {cause}. Try again, or restore it from its backup.")
    return KeyRecord(kind=label.kind, about=label.about, body=content)


def inspect_key(path: Path) -> KeyLabel:
    """What the file says in the open; needs no passphrase and touches no key."""
    return _open(path)[0]


def _open(path: Path) -> tuple[KeyLabel, Secret]:
    content, status = safe_file.read(path)
    parsed = _parse(content)
    if parsed is None:
        raise KeyRejected(f"{path} is not a key file of format {_FORMAT}, or is damaged; restore it from its backup.")
    if parsed[0].kind.is_secret:
        safe_file.require_private(path, status)
    return parsed


def _render(label: KeyLabel, body: Secret) -> Secret:
    document = {
        "format": _FORMAT,
        "kind": label.kind.value,
        "about": dict(label.about),
        "protection": label.protection.value,
        "body": base64.b64encode(body.reveal()).decode(),
    }
    return Secret(json.dumps(document, indent=2).encode() + b"\n")


def _parse(content: Secret) -> tuple[KeyLabel, Secret] | None:
    """None instead of an exception, which would carry the text of the file with it."""
    with suppress(ValueError, RecursionError):
        match json.loads(content.reveal()):
            case {"format": version, "kind": kind, "about": about, "protection": protection, "body": str(body), **more}:
                if version == _FORMAT and _is_about(about) and not more:
                    label = KeyLabel(kind=Kind(kind), about=about, protection=Protection(protection))
                    return label, Secret(base64.b64decode(body, validate=True))
    return None


def _is_about(about: object) -> TypeGuard[About]:
    """Flat, finite and printable: a file that came by e-mail must not steer the terminal it is shown on."""
    return isinstance(about, Mapping) and all(name.isprintable() and _is_fact(fact) for name, fact in about.items())


def _is_fact(fact: object) -> bool:
    match fact:
        case str():
            return fact.isprintable()
        case int() | float():
            return abs(fact) < math.inf
        case _:
            return False


def _with_digest(label: KeyLabel, content: Secret) -> Secret:
    return Secret(content.reveal() + _digest(label, content))


def _without_digest(label: KeyLabel, body: Secret) -> Secret | None:
    content = Secret(body.reveal()[:-_DIGEST_BYTES])
    intact = hmac.compare_digest(_digest(label, content), body.reveal()[-_DIGEST_BYTES:])
    return content if intact else None


def _digest(label: KeyLabel, content: Secret) -> bytes:
    return hashlib.sha256(bind("sapefl key file digest", label.bound, content.reveal())).digest()


def _encrypt(label: KeyLabel, content: Secret, passphrase: Secret) -> Secret:
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    return Secret(salt + nonce + _cipher(passphrase, salt).encrypt(nonce, content.reveal(), label.bound))


def _decrypt(label: KeyLabel, body: Secret, passphrase: Secret) -> Secret | None:
    raw = body.reveal()
    salt, nonce, sealed = raw[:_SALT_BYTES], raw[_SALT_BYTES:][:_NONCE_BYTES], raw[_SALT_BYTES + _NONCE_BYTES :]
    with suppress(InvalidTag, ValueError):
        return Secret(_cipher(passphrase, salt).decrypt(nonce, sealed, label.bound))
    return None


def _cipher(passphrase: Secret, salt: bytes) -> AESGCM:
    return AESGCM(Scrypt(salt=salt, length=32, n=_SCRYPT_COST, r=8, p=1).derive(passphrase.reveal()))
