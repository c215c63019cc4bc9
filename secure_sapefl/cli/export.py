"""`secure-sapefl export`: a site's own model, as a file that plain torch reads."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.engine.export import OwnModel


def export(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or a site's folder.", show_default=False)
    ],
    site: Annotated[
        str | None, typer.Option(help="Of a run: the site whose model it is.", metavar="NAME", show_default=False)
    ] = None,
    out: Annotated[
        Path, typer.Option(help=".safetensors: its state dict. .pt2: a program that needs no source code.")
    ] = Path("model.safetensors"),
    study: Annotated[
        Path | None,
        typer.Option(
            help="At a site: the study whose model it is.", metavar="STUDY.toml", show_default="the only one there"
        ),
    ] = None,
    output: Format = "table",
) -> None:
    """Write the model a site uses into a file for its owner, and beside it how records are prepared for it.

    The file holds no pickle and is read by plain torch. It is for the owner's own use: it has no noise, and may tell
    about records and, of an encrypted study, about the key. `release` is the only way to outsiders.

    Examples:

    `secure-sapefl export runs/mine --site north --out north.safetensors`

    `secure-sapefl export runs/mine --site north --out north.pt2`

    `secure-sapefl export site --study study.toml --out heart.pt2`
    """
    model = _from_site(source, site, study) if (source / "site.toml").is_file() else _from_run(source, site, study)
    from secure_sapefl.engine.export import write_export

    file, preprocessing = write_export(model, out)
    about = model.described()
    if output == "json":
        typer.echo(json.dumps({"file": str(file), "preprocessing": str(preprocessing), **about}))
        return
    typer.echo(f"Model: {file}, of {model.site} after {about['rounds']} rounds of {about['method']}")
    typer.echo(f"How records are prepared for it: {preprocessing}")
    typer.echo(about["use"])


def _from_run(folder: Path, site: str | None, study: Path | None) -> "OwnModel":
    from secure_sapefl.engine.export import scored_model
    from secure_sapefl.engine.run_folder import models_of, summary_of

    if study is not None:
        raise BadInput(f"{folder} is not a site's folder: --study is for one.")
    models = models_of(folder)
    if site is None:
        raise BadInput(f"Whose model? Name a site with --site: {', '.join(models.thetas)}.")
    return scored_model(models, summary_of(folder), site)


def _from_site(folder: Path, site: str | None, study: Path | None) -> "OwnModel":
    from secure_sapefl.site.home import SiteHome
    from secure_sapefl.site.own_model import exported_model
    from secure_sapefl.site.predict import study_with_model
    from secure_sapefl.study.file import read_study
    from secure_sapefl.study.terms import StudyTerms

    home = SiteHome(folder)
    if site not in (None, home.name):
        raise BadInput(f"{folder} is the folder of site {home.name!r}: it has no model of {site!r}. Leave --site out.")
    return exported_model(home, StudyTerms.from_file(study_with_model(home) if study is None else read_study(study)))
