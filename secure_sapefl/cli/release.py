"""`secure-sapefl release`: the common model of a study, for people outside it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.engine.published import PublishedModel


def release(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or a site's folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The model to write; nothing is replaced.")] = Path("model.npz"),
    study: Annotated[
        Path | None,
        typer.Option(
            help="At a site: the study whose model it is.", metavar="STUDY.toml", show_default="the only one there"
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    output: Format = "table",
) -> None:
    """Publish the common model: write it into a file for outsiders, with noise that protects the cohort key.

    Where sites share a key, a decrypted model can give it away; with this noise it does not. The noise is tiny, and
    hides nothing about records. Releases are counted on disk, because sixteen are all that the noise is made for. With
    joint keys there is no such key, and no noise.

    Examples:

    `secure-sapefl release runs/mine --out model.npz`

    `secure-sapefl release site --study study.toml --out heart.npz`
    """
    at_a_site = (source / "site.toml").is_file()
    if not at_a_site and (study is not None or passphrase_file is not None):
        raise BadInput(f"{source} is not a site's folder: --study and --passphrase-file are for one.")
    model = _from_site(source, study, passphrase_file, out) if at_a_site else _from_run(source, out)
    if output == "json":
        typer.echo(json.dumps({"file": str(out), **model.about}))
        return
    about = model.about
    typer.echo(f"Model: {out}, {about['parameters']:,} numbers after {about['rounds']} rounds of {about['method']}")
    typer.echo(_counted(model))


def _counted(model: "PublishedModel") -> str:
    about = model.about
    if about["allowed_releases"] is None:
        return "No noise was added: no key that still exists could be learned from the model."
    return (
        f"Noise: standard deviation {about['noise']:.1e}, for the key's sake. "
        f"This is release {about['release']} of {about['allowed_releases']}."
    )


def _from_run(folder: Path, out: Path) -> "PublishedModel":
    from secure_sapefl.engine.published import release_run

    return release_run(folder, out)


def _from_site(folder: Path, study: Path | None, passphrase_file: Path | None, out: Path) -> "PublishedModel":
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.predict import study_with_model
    from secure_sapefl.site.release import release_from_site
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.terms import StudyTerms

    home = SiteHome(folder)
    chosen = study_with_model(home) if study is None else read_study(study)
    passphrase = known_passphrase(home.identity_path, passphrase_file)
    return release_from_site(home, StudyTerms.from_file(chosen), passphrase, out)
