"""`secure-sapefl site rotate`."""

from pathlib import Path
from typing import Annotated

import typer

from secure_sapefl.cli.options import Home
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase


def rotate(
    identity: Annotated[Path, typer.Option(help="The new private key file, made with `keys site` under this name.")],
    home: Home = Path("site"),
    passphrase_file: PassphraseFile = None,
    new_passphrase_file: Annotated[
        Path | None, typer.Option(help="Passphrase of the new key.", show_default="as of the old one")
    ] = None,
) -> None:
    """Give this site a new key. Policy, ledgers and what was ever spent stay; the old key signs who follows it.

    Studies whose rosters name the old key must be over, or withdrawn from. For the next one see `study next`.

    Examples:

    `secure-sapefl site rotate --identity hospital-a-2027.key`

    `secure-sapefl site rotate --home site --identity new.key --passphrase-file old.txt --new-passphrase-file new.txt`
    """
    from sapefl_crypto.keys.custody import identity_from
    from sapefl_crypto.keys.keyfile import Kind, read_key
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.ledger.rotation import rotate as give_new_key

    site = SiteHome(home)
    old = site.identity(known_passphrase(site.identity_path, passphrase_file))
    words = known_passphrase(identity, new_passphrase_file or passphrase_file)
    new = identity_from(read_key(identity, Kind.SITE_IDENTITY, passphrase=words))
    made = give_new_key(site, old, new, words)
    typer.echo(f"Site {made.name!r} has key {made.public.fingerprint} now. Send its .pub to custodian and coordinator.")
