"""`secure-sapefl site`: a site's own side of studies. Nothing here talks to a server but `start`.

Exit codes beside the usual ones: 3 the study asks for more than the site's policy allows.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from secure_sapefl.cli import data_schema, site_predict, site_report, site_rotate, site_start, site_status, site_table
from secure_sapefl.cli.keys import Overwrite, what_it_is
from secure_sapefl.cli.options import Format, Home
from secure_sapefl.cli.passphrases import PassphraseFile, known_passphrase
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.cli.study import StudyPath

if TYPE_CHECKING:
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.review import Review

CONFLICT = 3
_COLOURS = {"ok": "green", "conflict": "bold red", "note": "cyan"}

app = typer.Typer(
    help="A site's own side: its folder, its policy, its consent, its ledger, its model.", no_args_is_help=True
)

Fingerprint = Annotated[str, typer.Option(help="The cohort key's fingerprint as the custodian read it out.")]


@app.command()
def init(
    identity: Annotated[Path, typer.Option(help="The site's private key file, made with `keys site`.")],
    data: Annotated[
        Path,
        typer.Option(help="The site's records: a table, an .npz, or a folder of images; read in place, not copied."),
    ],
    sealed: Annotated[Path, typer.Option(help="The sealed copy of the cohort key that came from the custodian.")],
    fingerprint: Fingerprint,
    policy: Annotated[
        Path | None, typer.Option(help="The owner's policy.toml; without it, a cautious one with comments is written.")
    ] = None,
    home: Home = Path("site"),
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make a site's folder: identity, cohort key, policy and empty ledgers, private to this user.

    A cohort key whose fingerprint is not the custodian's is refused, because whoever made it could read everything.

    Examples:

    `secure-sapefl site init --identity hospital-a.key --data heart.csv --sealed hospital-a.sealed --fingerprint 1f0c-…`

    `secure-sapefl site init --home a --identity a.key --data a.csv --sealed a.sealed --fingerprint 1f0c-… --policy p`
    """
    from secure_sapefl.site.setup import set_up

    words = known_passphrase(identity, passphrase_file)
    made, record = set_up(home, identity, data, sealed, fingerprint, policy, words)
    held = f"{what_it_is(record)} of study {record.about['study']!r}"
    typer.echo(f"Site {made.name!r}: {made.path}\n{held}: fingerprint as expected.")
    if policy is None:
        typer.echo(f"Read and edit {made.policy_path} before you approve anything.")


@app.command("key")
def key_(
    sealed: Annotated[Path, typer.Argument(help="The sealed copy that came from the custodian.")],
    fingerprint: Fingerprint,
    home: Home = Path("site"),
    passphrase_file: PassphraseFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Take in the cohort key of a further study, or a new one for a study whose key was changed (--overwrite).

    Examples:

    `secure-sapefl site key hospital-a.sealed --fingerprint 1f0c-…`

    `secure-sapefl site key hospital-a.sealed --fingerprint 77b2-… --overwrite`
    """
    site = _home(home)
    words = known_passphrase(site.identity_path, passphrase_file)
    record = site.take_cohort_key(sealed, fingerprint, words, replace=overwrite)
    held = f"{what_it_is(record)} of study {record.about['study']!r}"
    typer.echo(f"{held}: fingerprint {record.about['fingerprint']} as expected.")


@app.command()
def review(study: StudyPath, home: Home = Path("site"), output: Format = "table") -> None:
    """Hold a study against this site's policy: what will leave, who can read it, what it may cost in epsilon.

    Code that the study carries is printed below, with what it imports and reaches for above.

    Exit code 0 if nothing conflicts, 3 if something does, 2 if study, data or the site's folder are not in order.

    Examples:

    `secure-sapefl site review study.toml`

    `secure-sapefl site review study.toml --home hospital-a --format json`
    """
    from secure_sapefl.site.review import review_site
    from secure_sapefl.study.counting import any_terms
    from secure_sapefl.study.file import read_study

    found = review_site(_home(home), any_terms(read_study(study)))
    if output == "json":
        typer.echo(json.dumps(found.to_json()))
    else:
        _show(found)
    if found.conflicts:
        raise typer.Exit(CONFLICT)


@app.command()
def approve(study: StudyPath, home: Home = Path("site"), passphrase_file: PassphraseFile = None) -> None:
    """Consent to exactly this study: signed with the site's key, bound to the study's digest, written to the ledger.

    Refused, with exit code 3, where `site review` finds a conflict.

    Examples:

    `secure-sapefl site approve study.toml`

    `secure-sapefl site approve study.toml --home hospital-a --passphrase-file words.txt`
    """
    from secure_sapefl.site.consent import approve as consent_to

    site = _home(home)
    consent = consent_to(site, study, site.identity(known_passphrase(site.identity_path, passphrase_file)))
    code = "" if consent.code is None else f"\nWith it, the code it carries: SHA-256 {consent.code}."
    typer.echo(f"{site.name!r} approves study {consent.study!r}, digest {consent.digest}.{code}")


@app.command()
def withdraw(study: StudyPath, home: Home = Path("site"), passphrase_file: PassphraseFile = None) -> None:
    """Take consent back: this site starts nothing of the study again. What others have received they keep.

    Examples:

    `secure-sapefl site withdraw study.toml`

    `secure-sapefl site withdraw study.toml --home hospital-a`
    """
    from secure_sapefl.site.consent import withdraw as withdraw_consent
    from secure_sapefl.study.file import read_study

    site, found = _home(home), read_study(study)
    withdraw_consent(site, found, site.identity(known_passphrase(site.identity_path, passphrase_file)))
    typer.echo(f"{site.name!r} takes no further part in study {found.name!r}.")


@app.command()
def ledger(
    home: Home = Path("site"),
    verify: Annotated[bool, typer.Option("--verify", help="Only say whether every line is as it was written.")] = False,
    export: Annotated[
        Literal["json", "html"] | None, typer.Option(help="Everything, for an auditor, on standard output.")
    ] = None,
    last: Annotated[int, typer.Option(help="Lines to show.", min=1)] = 20,
) -> None:
    """Show what left this site, what came and what was decided. The whole chain is verified first, always.

    Exit code 2 if a line was changed, removed or moved; the line is named.

    Examples:

    `secure-sapefl site ledger`

    `secure-sapefl site ledger --verify`

    `secure-sapefl site ledger --export html > ledger.html`
    """
    from secure_sapefl.privacy.adjacency import ADJACENCY
    from secure_sapefl.site.ledger.export import COLUMNS, cells, summaries, to_html, to_json
    from secure_sapefl.site.ledger.files import LedgerFiles
    from secure_sapefl.site.spending import replaced_epsilons

    site = _home(home)
    lines = LedgerFiles(site.ledger_path).read(site.public)
    if export is not None:
        written = {"json": to_json, "html": to_html}[export]
        typer.echo(written(lines, site.public, replaced_epsilons(site)))
        return
    if not verify:
        print_table(f"Ledger of {site.name}", COLUMNS, map(cells, lines.entries[-last:]))
        typer.echo(f"Epsilon: {ADJACENCY}")
        for study in summaries(lines.entries, replaced_epsilons(site)):
            typer.echo(f"Study {study.name}: epsilon {study.epsilon}, for a replaced record {study.replaced}")
    typer.echo(f"Lines: {lines.head.lines}, all as they were written. Digest of the last: {lines.head.digest}")
    if lines.torn:
        typer.echo("A crash left half a line after them; the site cuts it off when it next writes.")


app.command("start")(site_start.start)
app.command("status")(site_status.status)
app.command("predict")(site_predict.predict)
app.command("report")(site_report.report)
app.command("rotate")(site_rotate.rotate)
app.command("table")(site_table.table)
app.command("check-data")(data_schema.check_data)


def _home(path: Path) -> "SiteHome":
    from secure_sapefl.site.home import SiteHome

    return SiteHome(path)


def _show(review: "Review") -> None:
    rows = [(Text(x.verdict, style=_COLOURS[x.verdict]), x.topic, x.says, x.policy) for x in review.lines]
    print_table(f"Study {review.study} at {review.site}", ("", "what", "the study says", "your policy"), rows)
    if review.code is not None:
        from secure_sapefl.study.code_reading import numbered

        typer.echo(f"Code {review.code.file}, SHA-256 {review.code.digest}:\n{numbered(review.code.source)}\n")
    typer.echo(f"Digest: {review.digest}\nConflicts with your policy: {len(review.conflicts) or 'none'}")
