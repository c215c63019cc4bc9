"""Where commands get passphrases: a private file, the environment or a person at the keyboard; never an argument."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sapefl_crypto.keys import safe_file
from sapefl_crypto.keys.keyfile import Protection, inspect_key, passphrase
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import BadInput

PASSPHRASE_VARIABLE = "SAPEFL_PASSPHRASE"  # noqa: S105  (the variable's name)

PassphraseFile = Annotated[
    Path | None,
    typer.Option(help=f"File (mode 0600) with the passphrase. Or set {PASSPHRASE_VARIABLE}.", show_default=False),
]
AskPassphrase = Annotated[bool, typer.Option("--ask-passphrase", help="Ask for a new passphrase, unseen.")]


def new_passphrase(file: Path | None, ask: bool) -> Secret | None:
    """For a key file that is being made; None where nobody wants one."""
    given = _given_passphrase(file)
    return _asked_passphrase("New passphrase", confirm=True) if given is None and ask else given


def known_passphrase(key_file: Path, file: Path | None) -> Secret | None:
    """For a key file that is there; None where it has none."""
    if inspect_key(key_file).protection is Protection.NONE and file is None:
        return None
    given = _given_passphrase(file)
    return _asked_passphrase(f"Passphrase of {key_file}", confirm=False) if given is None else given


def _given_passphrase(file: Path | None) -> Secret | None:
    if file is not None:
        return passphrase(safe_file.read_private(file).reveal().decode(errors="surrogateescape").rstrip("\r\n"))
    return passphrase(os.environ[PASSPHRASE_VARIABLE]) if PASSPHRASE_VARIABLE in os.environ else None


def _asked_passphrase(question: str, *, confirm: bool) -> Secret:
    if not sys.stdin.isatty():
        raise BadInput(f"{question}: nobody is here to ask; use --passphrase-file or set {PASSPHRASE_VARIABLE}.")
    return passphrase(typer.prompt(question, hide_input=True, confirmation_prompt=confirm, err=True))
