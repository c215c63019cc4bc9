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


def of(study: Path, state: Path, key: Path, passphrase: Secret | None) -> Mapping[str, str]:
    paths = {_STUDY: str(study.absolute()), _STATE: str(state.absolute()), _KEY: str(key.absolute())}
    return paths if passphrase is None else {**paths, _WORDS: passphrase.reveal().decode()}


def study() -> Path:
    return Path(os.environ[_STUDY])


def state() -> Path:
    return Path(os.environ[_STATE])


def coordinator() -> SiteIdentity:
    words = Secret(os.environ[_WORDS].encode()) if _WORDS in os.environ else None
    return identity_from(read_key(Path(os.environ[_KEY]), Kind.SITE_IDENTITY, passphrase=words))
