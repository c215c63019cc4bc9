"""How the process that starts Flower tells the ServerApp, several processes further down, what to run.

By environment: it is inherited by every process in between and travels in no message.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sapefl_crypto.custody import identity_from
from sapefl_crypto.identity import SiteIdentity
from sapefl_crypto.keyfile import Kind, read_key
from sapefl_crypto.secret import Secret

_STUDY: Final = "SAPEFL_SERVER_STUDY"
_STATE: Final = "SAPEFL_SERVER_STATE"
_KEY: Final = "SAPEFL_SERVER_KEY"
_WORDS: Final = "SAPEFL_SERVER_PASSPHRASE"
_AT_ONCE: Final = "SAPEFL_SERVER_AT_ONCE"


def of(study: Path, state: Path, key: Path, passphrase: Secret | None, at_once: int | None) -> Mapping[str, str]:
    told = {_STUDY: str(study.absolute()), _STATE: str(state.absolute()), _KEY: str(key.absolute())}
    if passphrase is not None:
        told[_WORDS] = passphrase.reveal().decode()
    if at_once is not None:
        told[_AT_ONCE] = str(at_once)
    return told


def study() -> Path:
    return Path(os.environ[_STUDY])


def state() -> Path:
    return Path(os.environ[_STATE])


def at_once() -> int | None:
    """How many sites are asked at the same time; None is all of them."""
    return int(os.environ[_AT_ONCE]) if _AT_ONCE in os.environ else None


def coordinator() -> SiteIdentity:
    words = Secret(os.environ[_WORDS].encode()) if _WORDS in os.environ else None
    return identity_from(read_key(Path(os.environ[_KEY]), Kind.SITE_IDENTITY, passphrase=words))
