"""Who a site is: an Ed25519 key to sign with and an X25519 key that others seal secrets to.

Sealing is HPKE (RFC 9180) in base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, as `cryptography` ships
it. Base mode hides the content from everybody but the recipient; it does not say who sealed it. Whoever opens a sealed
copy therefore compares fingerprints with the sender over another channel.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.secret import Guarded

SUITE: Final = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
_KEY_BYTES: Final = 32
_TEXT: Final = "sapefl-site-v1"
_NAME: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_SECRET_PREFIX: Final = b"SPID\x01"
_SECRET: Final = re.compile(_SECRET_PREFIX + b"(.{32})(.{32})(" + _NAME.encode() + b")", re.DOTALL)
_FIELD: Final = 2**255 - 19
_COORDINATE: Final = 2**255 - 1  # what a key says beside its sign bit
_ORDER_EIGHT: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER: Final = frozenset((0, 1, _FIELD - 1, _ORDER_EIGHT, _FIELD - _ORDER_EIGHT))
"""y of the eight points of Ed25519 whose order divides 8 (Chalkias et al. 2020, eprint 2020/1244, Table 1)."""
_ASK_AGAIN: Final = "Ask the site for its .pub text again."


def fingerprint(label: str, *parts: bytes | str | int) -> str:
    """128 bits in eight groups that two people can compare over the telephone."""
    digest = hashlib.sha256(bind(label, *parts)).hexdigest()
    return "-".join(digest[start : start + 4] for start in range(0, 32, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePublicKeys:
    """What a site tells the world: enough to check its signatures and to send it secrets."""

    name: str
    signing: bytes
    sealing: bytes

    def __post_init__(self) -> None:
        if not len(self.signing) == len(self.sealing) == _KEY_BYTES:
            raise KeyRejected(f"Site {self.name!r}: public keys have {_KEY_BYTES} bytes each. {_ASK_AGAIN}")
        if not _can_sign(self.signing):
            raise KeyRejected(f"Site {self.name!r}: under its signing key anybody could sign. {_ASK_AGAIN}")
        if not can_seal(self.sealing):
            raise KeyRejected(f"Site {self.name!r}: what is sealed for its key anybody could open. {_ASK_AGAIN}")

    @property
    def fingerprint(self) -> str:
        return fingerprint("sapefl site fingerprint", self.name, self.signing, self.sealing)

    def to_text(self) -> str:
        """One line for an e-mail: version, name, both keys, and the fingerprint's first groups as a checksum."""
        keys = base64.urlsafe_b64encode(self.signing + self.sealing).decode().rstrip("=")
        return f"{_TEXT}:{self.name}:{keys}:{self.fingerprint[:9]}"

    @classmethod
    def from_text(cls, text: str) -> "SitePublicKeys":
        """Read `to_text`, also when a mail program has wrapped it."""
        line = "".join(text.split())
        match line.split(":"):
            case [version, name, encoded, _] if version == _TEXT:
                raw = _decode(encoded)
            case _:
                raise KeyRejected(f"This is not a site's public key, which begins with '{_TEXT}:'. {_ASK_AGAIN}")
        keys = cls(name=_site_name(name), signing=raw[:_KEY_BYTES], sealing=raw[_KEY_BYTES:])
        if keys.to_text() != line:
            raise KeyRejected(f"Site {name!r}: the public key was mistyped or cut on its way. {_ASK_AGAIN}")
        return keys

    def seal_for(self, data: bytes, *, context: bytes) -> bytes:
        """Encrypt ``data`` so that only this site can read it, and only by naming the same ``context``."""
        return SUITE.encrypt(data, X25519PublicKey.from_public_bytes(self.sealing), self.purpose(context))

    def verify(self, signature: bytes, message: bytes) -> None:
        """Return only if this site signed ``message``; otherwise `cryptography.exceptions.InvalidSignature`."""
        Ed25519PublicKey.from_public_bytes(self.signing).verify(signature, message)

    def purpose(self, context: bytes) -> bytes:
        """HPKE's ``info``: a blob opened as something else, or by somebody else, does not open."""
        return bind("sapefl sealed secret", self.name, self.signing, self.sealing, context)


class SiteIdentity(Guarded):
    """The private half. It leaves the process only through `export_secret`, into a key file."""

    __slots__ = ("_sealing", "_signing", "public")

    def __init__(self, name: str, signing: Ed25519PrivateKey, sealing: X25519PrivateKey) -> None:
        self._signing = signing
        self._sealing = sealing
        self.public: Final = SitePublicKeys(
            name=name,
            signing=signing.public_key().public_bytes_raw(),
            sealing=sealing.public_key().public_bytes_raw(),
        )

    @classmethod
    def generate(cls, name: str) -> "SiteIdentity":
        return cls.simulated(_site_name(name))

    @classmethod
    def simulated(cls, name: str) -> "SiteIdentity":
        """Under any name, because no file, roster or message from elsewhere will ever hold it."""
        return cls(name, Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @classmethod
    def from_secret(cls, secret: bytes) -> "SiteIdentity":
        parts = _SECRET.fullmatch(secret)
        del secret  # a traceback that shows locals must not show it
        if parts is None:
            raise KeyRejected("These bytes are no site identity; restore the key file from its backup.")
        signing, sealing, name = parts.groups()
        return cls(
            name.decode(), Ed25519PrivateKey.from_private_bytes(signing), X25519PrivateKey.from_private_bytes(sealing)
        )

    def export_secret(self) -> bytes:
        """Prefix and version, both private keys, name. Hand it to `keyfile` and to nothing else."""
        keys = self._signing.private_bytes_raw() + self._sealing.private_bytes_raw()
        return _SECRET_PREFIX + keys + self.public.name.encode()

    def sign(self, message: bytes) -> bytes:
        """A raw signature; `signing.sign_frame` says what the message is for, which callers should prefer."""
        return self._signing.sign(message)

    def unseal(self, blob: bytes, *, context: bytes) -> bytes:
        """Open what somebody sealed for this site's public keys under the same ``context``."""
        return self.unseal_as(blob, info=self.public.purpose(context))

    def unseal_as(self, blob: bytes, *, info: bytes) -> bytes:
        """The same for what was sealed for the sealing key alone, under an ``info`` of another kind."""
        try:
            return SUITE.decrypt(blob, self._sealing, info)
        except (InvalidTag, ValueError):
            raise KeyRejected(
                f"Site {self.public.name!r} cannot open this sealed secret: it was damaged, or made for another site, "
                f"study or purpose. Ask for a copy sealed for fingerprint {self.public.fingerprint}."
            ) from None


def _site_name(name: str) -> str:
    """What may be part of a path, a command and a ledger."""
    if not re.fullmatch(_NAME, name):
        raise KeyRejected(
            f"{name!r} is no site name: use 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit."
        )
    return name


def _can_sign(key: bytes) -> bool:
    """Whether a signature under this key shows anything. Under a point of small order, one signature fits every
    message, and OpenSSL accepts it; a second spelling of a point would make one key pass for two."""
    y = int.from_bytes(key, "little") & _COORDINATE
    return y < _FIELD and y not in _SMALL_ORDER


def can_seal(key: bytes) -> bool:
    """Whether a secret shared with this key is one. With a point of low order it is zero, whoever computes it."""
    if int.from_bytes(key, "little") >= _FIELD:
        return False
    try:
        _probe().exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return True


@cache
def _probe() -> X25519PrivateKey:
    """A key nobody uses: a point of low order shows itself with any."""
    return X25519PrivateKey.generate()


def _decode(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise KeyRejected(f"The public key holds characters that do not belong there. {_ASK_AGAIN}") from None
