"""`secure-sapefl keys`: make, hand out and look at keys. No command prints a secret or takes one as an argument."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys import safe_file
from sapefl_crypto.keys.custody import (
    cohort_record,
    identity_from,
    identity_record,
    open_copy,
    require_fingerprint,
    seal_copy,
)
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.keyfile import KeyRecord, Kind, inspect_key, read_key, write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.cli.options import Format
from secure_sapefl.cli.passphrases import AskPassphrase, PassphraseFile, known_passphrase, new_passphrase
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.config import KeyChoice
from secure_sapefl.errors import BadInput
from secure_sapefl.storage.files import writing
from secure_sapefl.study.roster import SMALLEST_ROSTER

app = typer.Typer(help="Make, hand out and inspect the keys of sites and cohorts.", no_args_is_help=True)

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files. What they held is lost.")]


@app.command()
def site(
    name: Annotated[str, typer.Option(help="The site's name in every study: letters, digits, '.', '_', '-'.")],
    out: Annotated[Path, typer.Option(help="The private key file to write (mode 0600).")],
    passphrase_file: PassphraseFile = None,
    ask_passphrase: AskPassphrase = False,
    overwrite: Overwrite = False,
) -> None:
    """Make a site's identity: a private key file, and NAME.pub beside it to send to the custodian.

    Examples:

    `secure-sapefl keys site --name hospital-a --out hospital-a.key`

    `secure-sapefl keys site --name hospital-a --out hospital-a.key --ask-passphrase`
    """
    identity = SiteIdentity.generate(name)
    public = out.parent / f"{name}.pub"
    if public == out:
        raise BadInput(f"{out} is where the public key goes; give the private file another name, such as {name}.key.")
    _refuse_existing((out, public), overwrite)
    words = new_passphrase(passphrase_file, ask_passphrase)
    write_key(out, identity_record(identity), passphrase=words, replace=overwrite)
    text = Secret(identity.public.to_text().encode() + b"\n")
    safe_file.write(public, text, mode=safe_file.PUBLIC, replace=overwrite)
    typer.echo(f"Private: {out} (keep it here)\nPublic:  {public} (send it to the custodian)")
    typer.echo(f"Fingerprint, to read out when asked: {identity.public.fingerprint}")


@app.command()
def cohort(
    study: Annotated[str, typer.Option(help="The study this key is for.")],
    recipients: Annotated[list[Path], typer.Option("--for", help="A site's .pub file; repeat for each site.")],
    out: Annotated[Path, typer.Option(help="Folder for the sealed copies, one SITE.sealed each.")],
    max_clients: Annotated[int | None, typer.Option(help="Most sites in a round.", show_default="sites given")] = None,
    max_abs_value: Annotated[float, typer.Option(help="Bound on every value of an update.")] = 8.0,
    keys: Annotated[
        KeyChoice, typer.Option(help="shared: one key for all. joint: sites share the root of the tags alone.")
    ] = "shared",
    keep: Annotated[Path | None, typer.Option(help="Also keep a plain copy in this file (mode 0600).")] = None,
    passphrase_file: PassphraseFile = None,
    ask_passphrase: AskPassphrase = False,
    overwrite: Overwrite = False,
) -> None:
    """Make a study's cohort key and seal one copy for each site; the copies may travel over any channel.

    With joint keys there is no such key. What sites then have in common is the root of the tags, which opens nothing.

    No plain copy stays here unless --keep names a file, which the passphrase options then protect.

    Examples:

    `secure-sapefl keys cohort --study heart --for hospital-a.pub --for hospital-b.pub --out sealed`

    `secure-sapefl keys cohort --study heart --for hospital-a.pub --for hospital-b.pub --out sealed --max-clients 16`

    `secure-sapefl keys cohort --study heart --keys joint --for a.pub --for b.pub --for c.pub --for d.pub --out sealed`
    """
    sites = _read_recipients(recipients)
    if not study.strip() or (max_clients is not None and max_clients < len(sites)):
        raise BadInput(f"A cohort key needs the study's name and room for its {len(sites)} sites (--max-clients).")
    if keys == "joint" and len(sites) < SMALLEST_ROSTER:
        raise BadInput(
            f"Joint keys are for sites that open sums together, and {sites[0].name!r} alone has nobody to open one "
            "with. Name every site of the study, each with --for."
        )
    targets = {site.name: out / f"{site.name}.sealed" for site in sites}
    _refuse_existing((*targets.values(), *([keep] if keep else [])), overwrite)
    words = new_passphrase(passphrase_file, ask_passphrase) if keep else None
    most = len(sites) if max_clients is None else max_clients
    record = _new_cohort_key(study, most, max_abs_value) if keys == "shared" else _new_tag_root(study)
    with writing(out, "Choose another --out."):
        out.mkdir(parents=True, exist_ok=True)
    for site in sites:
        write_key(targets[site.name], seal_copy(record, site), replace=overwrite)
    if keep:
        write_key(keep, record, passphrase=words, replace=overwrite)
    print_table("", ("site", "fingerprint", "sealed copy"), [(s.name, s.fingerprint, targets[s.name]) for s in sites])
    typer.echo("Compare each site's fingerprint with the site. Each site checks this one when it takes in its copy:")
    typer.echo(f"{what_it_is(record)} fingerprint: {record.about['fingerprint']}")


@app.command("open")
def open_(
    sealed: Annotated[Path, typer.Argument(help="The sealed copy that came from the custodian.")],
    identity: Annotated[Path, typer.Option(help="This site's private key file.")],
    out: Annotated[Path, typer.Option(help="The cohort key file to write (mode 0600).")],
    fingerprint: Annotated[
        str | None, typer.Option(help="The cohort key's fingerprint as the custodian read it out.", show_default=False)
    ] = None,
    passphrase_file: PassphraseFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Open the copy of a cohort key that was sealed for this site, and keep it under the identity's passphrase.

    Examples:

    `secure-sapefl keys open hospital-a.sealed --identity hospital-a.key --out heart.key --fingerprint 1f0c-…`

    `secure-sapefl keys open hospital-a.sealed --identity hospital-a.key --out heart.key`
    """
    _refuse_existing((out,), overwrite)
    words = known_passphrase(identity, passphrase_file)
    owner = identity_from(read_key(identity, Kind.SITE_IDENTITY, passphrase=words))
    record = open_copy(read_key(sealed, Kind.SEALED_COHORT_COPY), owner)
    if fingerprint is not None:
        require_fingerprint(record, fingerprint.strip().lower())
    write_key(out, record, passphrase=words, replace=overwrite)
    typer.echo(f"{what_it_is(record)} of study {record.about['study']!r}: {out}")
    verdict = "as expected" if fingerprint else "compare it with the custodian's before you start"
    typer.echo(f"Fingerprint {record.about['fingerprint']}: {verdict}.")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A key file, a sealed copy or a site's .pub file.")],
    output: Format = "table",
) -> None:
    """Say what a key file is, whose it is and its fingerprint; never what it keeps secret.

    Examples:

    `secure-sapefl keys inspect hospital-a.pub`

    `secure-sapefl keys inspect heart.key --format json`
    """
    facts = _describe(file)
    if output == "json":
        typer.echo(json.dumps(facts))
    else:
        print_table("", ("field", "value"), facts.items())


def _describe(file: Path) -> dict[str, str | int | float]:
    if file.suffix == ".pub":
        keys = read_public(file)
        return {"kind": "site-public-keys", "name": keys.name, "fingerprint": keys.fingerprint}
    label = inspect_key(file)
    return {"kind": label.kind.value, "protection": label.protection.value, **label.about}


def _new_cohort_key(study: str, max_clients: int, max_abs_value: float) -> KeyRecord:
    from sapefl_crypto import CohortKey, Parameters

    parameters = Parameters.exact(max_clients=max_clients, max_abs_value=max_abs_value)
    secret = Secret(CohortKey.generate(parameters).export_secret())
    return cohort_record(secret, study=study, parameters=asdict(parameters))


def what_it_is(record: KeyRecord) -> str:
    """What all sites of a study hold: with joint keys it opens nothing."""
    return "Root of the tags (it opens nothing)" if record.about.get("keys") == "joint" else "Cohort key"


def _new_tag_root(study: str) -> KeyRecord:
    """All that sites with joint keys share; it opens nothing."""
    from sapefl_crypto.joint.tags import TagRoot

    return cohort_record(Secret(TagRoot.generate().export_secret()), study=study, parameters={"keys": "joint"})


def _read_recipients(files: Iterable[Path]) -> list[SitePublicKeys]:
    sites = [read_public(file) for file in files]
    names = [site.name.casefold() for site in sites]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise BadInput(f"More than one --for names the site {twins[0]!r}; give each site once, by a name of its own.")
    return sites


def read_public(file: Path) -> SitePublicKeys:
    content, _ = safe_file.read(file)
    try:
        return SitePublicKeys.from_text(content.reveal().decode(errors="replace"))
    except KeyRejected as error:
        raise KeyRejected(f"{file}: {error}") from None


def _refuse_existing(paths: Iterable[Path], overwrite: bool) -> None:
    """Before anything is made, so that a refusal leaves nothing behind."""
    taken = [path for path in paths if os.path.lexists(path)]
    if taken and not overwrite:
        raise BadInput(f"{taken[0]} exists and was not touched; choose another name, or give --overwrite.")
