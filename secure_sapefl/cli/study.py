"""`secure-sapefl study`: make, show and verify the file that coordinator and sites agree on."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from secure_sapefl.cli import study_next
from secure_sapefl.cli.keys import read_public
from secure_sapefl.cli.options import Format, given, in_data
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.cli.sheets import print_rows, print_table
from secure_sapefl.errors import BadInput
from secure_sapefl.study.settings import StudySettings

if TYPE_CHECKING:
    from sapefl_crypto.keys.identity import SiteIdentity
    from secure_sapefl.study.counting import CountingTerms
    from secure_sapefl.study.file import StudyFile

app = typer.Typer(help="Make, show and verify studies.", no_args_is_help=True)

StudyPath = Annotated[Path, typer.Argument(help="The study file.", metavar="STUDY.toml")]


@app.command()
@takes(StudySettings)
def new(
    settings: dict[str, Any],
    coordinator: Annotated[Path, typer.Option(help="The coordinator's private key file (`keys site`), which signs.")],
    site: Annotated[list[Path], typer.Option(help="A site's .pub file; repeat for each, in the order of the roster.")],
    out: Annotated[Path, typer.Option(help="The study file to write.")] = Path("study.toml"),
    draft: Annotated[Path | None, typer.Option("--from", help="A TOML file with any of the study's values.")] = None,
    schema: Annotated[Path | None, in_data(help="A schema.toml (`data schema`), instead of features.")] = None,
    feature: Annotated[
        list[str] | None, in_data(help="A column: age:0..120, sex:f|m, bmi; chol?:0..600@220 may be missing.")
    ] = None,
    label: Annotated[str | None, in_data(help="The column that holds the class.")] = None,
    klass: Annotated[list[str] | None, in_data("--class", help="A class; repeat for each.")] = None,
    scaling: Annotated[str | None, in_data(help="range (from the schema) or site. [default: range]")] = None,
    mock: Annotated[Path | None, typer.Option(help="Also write mock data of this schema into this folder.")] = None,
    mock_rows: Annotated[int, typer.Option(help="Records of mock data a site.", min=5)] = 100,
    passphrase_file: PassphraseFile = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing study file.")] = False,
) -> None:
    """Make a study from options, from a TOML draft, or both (options win), and sign it.

    Mock data comes from the schema alone, never from a record: try the whole study on it first.

    A model of your own, --model FILE.py:FUNCTION, is run here once and travels as source in the study.

    Examples:

    `secure-sapefl study new --name heart --coordinator coordinator.key --site a.pub --site b.pub --site c.pub
    --feature age:0..120 --feature 'sex:f|m' --label disease --class no --class yes --largest-site 250 --epsilon 4
    --delta 1e-5 --mock mock`

    `secure-sapefl study new --from draft.toml --coordinator coordinator.key --site a.pub --site b.pub`

    `secure-sapefl study new --from draft.toml --model net.py:build --head fc --coordinator coordinator.key --site a.pub
    --site b.pub`
    """
    from secure_sapefl.study.new import recommended_keys

    described = _data(feature, label, klass, scaling)
    values = settings | given(data=described if schema is None else _schema(schema, described))
    identity = signing_identity(coordinator, passphrase_file)
    study = _new_study(draft, values, identity, site)
    _tell_plan(study)
    write_study(out, study, identity, overwrite)
    typer.echo(f"Study {study.name!r}, {len(study.sites)} sites: {out}\nDigest: {study.digest}")
    if (advice := recommended_keys(study)) is not None:
        typer.echo(advice, err=True)
    if study.code is not None:
        typer.echo(f"It carries {study.code.file}, {study.code.lines} lines, SHA-256 {study.code.digest}")
    if mock is not None:
        _write_mock(mock, study, mock_rows)


@app.command()
def show(
    study: StudyPath,
    reader: Annotated[
        Literal["data-officer"] | None, typer.Option("--for", help="A note for a data protection officer, in Markdown.")
    ] = None,
    output: Format = "table",
) -> None:
    """Say what a study is: who takes part, what leaves a site, who can read it, what it may cost in epsilon.

    Examples:

    `secure-sapefl study show study.toml`

    `secure-sapefl study show study.toml --for data-officer > note.md`
    """
    from secure_sapefl.protocol.disclosure import stays
    from secure_sapefl.study.counting import CountingTerms
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.plain_words import exposure, leaving, leaving_once
    from secure_sapefl.study.sheet import data_protection_note, facts, to_json
    from secure_sapefl.study.terms import StudyTerms

    file = read_study(study)
    if file.kind == "statistics":
        _show_statistics(CountingTerms.of_table_one(file), reader is not None, output)
        return
    terms = StudyTerms.from_file(file)
    if reader is not None:
        typer.echo(data_protection_note(terms))
    elif output == "json":
        typer.echo(json.dumps(to_json(terms)))
    else:
        print_rows(f"Study {terms.file.name}", facts(terms).items())
        print_table("Sites", ("site", "key fingerprint"), [(k.name, k.fingerprint) for k in terms.file.sites_keys])
        columns = ("what leaves a site", "the server", "the other sites", "privacy")
        parts = (*leaving(terms), *leaving_once(terms))
        print_table("Who sees what", columns, [(p.what, p.server, p.sites, p.privacy) for p in parts])
        kept = " ".join(stays(terms.file.keys, terms.file.metrics))
        print_rows("Also", [("stays", kept), ("not protected", " ".join(exposure(terms).not_protected()))])


@app.command()
def verify(
    study: StudyPath,
    fingerprint: Annotated[
        str | None, typer.Option(help="The coordinator's key fingerprint, as the coordinator read it out.")
    ] = None,
    digest: Annotated[str | None, typer.Option(help="The digest the study should have, or its beginning.")] = None,
    output: Format = "table",
) -> None:
    """Check signature, digest, release, method and the keys of the roster; exit code 2 if anything is wrong.

    Examples:

    `secure-sapefl study verify study.toml`

    `secure-sapefl study verify study.toml --fingerprint 3d1c-7e0f-… --digest 9f3c2ab1`
    """
    from secure_sapefl.study.counting import any_terms
    from secure_sapefl.study.file import read_study, require_expected

    found = read_study(study)
    require_expected(found, fingerprint=fingerprint, digest=digest)
    any_terms(found)
    said = {
        "digest": found.digest,
        "coordinator": found.coordinator_keys.fingerprint,
        "release": found.package,
        "sites": {keys.name: keys.fingerprint for keys in found.sites_keys},
        "code": None if found.code is None else found.code.digest,
    }
    if output == "json":
        typer.echo(json.dumps(said))
        return
    typer.echo(f"The signature of {found.coordinator_keys.name!r} holds, and this release can run the study.")
    typer.echo(f"Digest:      {found.digest}\nCoordinator: {found.coordinator_keys.fingerprint}")
    if found.code is not None:
        typer.echo(f"Code {found.code.file}: SHA-256 {found.code.digest}; not run by this command")
    for name, keys in found.keys_by_name.items():
        typer.echo(f"Site {name}: {keys.fingerprint}")
    if fingerprint is None:
        typer.echo("Compare the coordinator's fingerprint over another channel before you trust the file.")


app.command("next")(study_next.next_study)


def _show_statistics(terms: "CountingTerms", officer: bool, output: str) -> None:
    from secure_sapefl.study.counting_words import note, table_facts, to_json

    if officer:
        typer.echo(note(terms))
    elif output == "json":
        typer.echo(json.dumps(to_json(terms)))
    else:
        print_rows(f"Study {terms.file.name}", table_facts(terms).items())
        print_table("Sites", ("site", "key fingerprint"), [(k.name, k.fingerprint) for k in terms.file.sites_keys])


def _data(
    features: list[str] | None, label: str | None, classes: list[str] | None, scaling: str | None
) -> dict[str, Any]:
    from secure_sapefl.study.new import feature_of

    described = [feature_of(text) for text in features or ()]
    return given(features=described or None, label=label, classes=classes or None, scaling=scaling)


def _schema(path: Path, described: dict[str, Any]) -> dict[str, Any]:
    from secure_sapefl.data.tables.schema import load_schema

    if set(described) - {"scaling"}:
        raise BadInput(f"{path} says what the data is; leave out --feature, --label and --class, or --schema.")
    return load_schema(path).model_dump(mode="json", exclude_none=True) | described


def _new_study(draft: Path | None, values: dict[str, Any], identity: "SiteIdentity", sites: list[Path]) -> "StudyFile":
    from secure_sapefl.config import read_toml
    from secure_sapefl.study.new import merged, new_study

    base = {} if draft is None else read_toml(draft)
    return new_study(merged(base, values), identity.public, [read_public(path) for path in sites])


def signing_identity(path: Path, passphrase_file: Path | None) -> "SiteIdentity":
    from sapefl_crypto.keys.custody import identity_from
    from sapefl_crypto.keys.keyfile import Kind, read_key

    return identity_from(read_key(path, Kind.SITE_IDENTITY, passphrase=known_passphrase(path, passphrase_file)))


def _tell_plan(study: "StudyFile") -> None:
    """On stderr, before anything is written."""
    from secure_sapefl.study.terms import StudyTerms

    for sentence in () if study.kind == "statistics" else StudyTerms.from_file(study).plan():
        typer.echo(f"plan: {sentence}", err=True)


def write_study(out: Path, study: "StudyFile", identity: "SiteIdentity", overwrite: bool) -> None:
    from sapefl_crypto.keys import safe_file
    from sapefl_crypto.secret import Secret
    from secure_sapefl.study.file import signed_text

    text = Secret(signed_text(study, identity).encode())
    safe_file.write(out, text, mode=safe_file.PUBLIC, replace=overwrite)


def _write_mock(folder: Path, study: "StudyFile", rows: int) -> None:
    from secure_sapefl.study.mock import write_mock

    for path in write_mock(folder, study.data, study.sites, rows, study.seed):
        typer.echo(f"Mock data: {path}")
