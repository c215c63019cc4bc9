"""`secure-sapefl study next`: a programme of studies goes on with another roster or other keys."""

from pathlib import Path
from typing import Annotated

import typer

from secure_sapefl.cli.keys import read_public
from secure_sapefl.cli.passphrases import PassphraseFile
from secure_sapefl.errors import BadInput

StudyPath = Annotated[Path, typer.Argument(help="The study it follows.", metavar="STUDY.toml")]


def next_study(
    study: StudyPath,
    name: Annotated[str, typer.Option(help="The new study's name, which is also its cohort key's.")],
    coordinator: Annotated[Path, typer.Option(help="The coordinator's private key file, old or new, which signs.")],
    replace: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE.pub: the new key of that place; repeat.", show_default=False)
    ] = None,
    leave: Annotated[list[str] | None, typer.Option(help="A site that goes; repeat.", show_default=False)] = None,
    join: Annotated[list[Path] | None, typer.Option(help="A new site's .pub file; repeat.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="The study file to write.")] = Path("study-next.toml"),
    passphrase_file: PassphraseFile = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing study file.")] = False,
) -> None:
    """Make the next study of a programme: all as in an earlier one, with another roster or other keys, and sign it.

    Rounds begin anew. Every owner reviews and approves it, with what was spent before counted in.

    Examples:

    `secure-sapefl study next study.toml --name heart-2 --coordinator coordinator.key --replace north=new/north.pub`

    `secure-sapefl study next study.toml --name heart-3 --coordinator coordinator.key --leave east --join west.pub`
    """
    from secure_sapefl.cli.study import signing_identity, write_study
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.succession import successor

    identity, places = signing_identity(coordinator, passphrase_file), [*map(_place, replace or ())]
    made = successor(
        read_study(study),
        name,
        identity.public,
        replace={site: read_public(path) for site, path in places},
        leave=leave or (),
        join=[read_public(path) for path in join or ()],
    )
    write_study(out, made, identity, overwrite)
    typer.echo(f"Study {made.name!r}, {len(made.sites)} sites: {out}\nDigest: {made.digest}")
    came = {read_public(path).name: path for path in [*(path for _, path in places), *(join or ())]}
    public = " ".join(f"--for {came.get(site, Path(f'{site}.pub'))}" for site in made.sites)
    keys = "" if made.keys == "shared" else f" --keys {made.keys}"
    typer.echo(
        f"Its cohort key, by the custodian: secure-sapefl keys cohort --study {made.name}{keys} {public} --out sealed"
    )


def _place(text: str) -> tuple[str, Path]:
    site, equals, path = text.partition("=")
    if not (site and equals and path):
        raise BadInput(f"--replace {text!r}: write NAME=FILE.pub, for instance north=new/north.pub.")
    return site, Path(path)
