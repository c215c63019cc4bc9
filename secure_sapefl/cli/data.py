"""`secure-sapefl data`: which datasets there are, whether one is sound and how it is divided, fetching one."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from secure_sapefl.cli import data_schema
from secure_sapefl.cli.interruption import going_on_with, same_command
from secure_sapefl.cli.options import Format, key_values
from secure_sapefl.cli.progress import download_progress
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput, SapeflError, UnknownName

if TYPE_CHECKING:
    from secure_sapefl.data import DatasetSpec, Federation

app = typer.Typer(help="Datasets: list them, describe, check and picture one, fetch one.", no_args_is_help=True)
app.command("schema")(data_schema.schema)
app.command("split")(data_schema.split)

DataDir = Annotated[Path | None, typer.Option(help="Folder with .npz files; otherwise SAPEFL_DATA, then the cache.")]
_DIVIDED_BY: Final = {"data_dir", "label", "group", "clients", "partition", "kappa", "clusters", "seed"}


@app.command("list")
def list_datasets(data_dir: DataDir = None, output: Format = "table") -> None:
    """Every registered dataset: task, licence, source, and where it is on this machine.

    Example: `secure-sapefl data list --format json`
    """
    from secure_sapefl.data import DATASETS, spec_of
    from secure_sapefl.plugins import offered

    installed = (spec_of(name) for name in offered("dataset") if name not in DATASETS)
    entries = [_entry(spec, data_dir) for spec in (*DATASETS.values(), *installed) if spec is not None]
    if output == "json":
        typer.echo(json.dumps(entries, indent=2))
        return
    columns = ("name", "task", "classes", "rows", "here", "licence", "source")
    print_table("Datasets", columns, [[entry[key] for key in columns] for entry in entries], lines=True)


@app.command()
@takes(Config, without=Config.model_fields.keys() - _DIVIDED_BY - {"data_schema"})
def check(
    settings: dict[str, Any],
    dataset: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A registered name, or a file.")],
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A dataset option.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="PNG", help="Where to draw sites × classes.")] = None,
    output: Format = "table",
) -> None:
    """Validate a dataset, print what each site gets, and draw it.

    Examples: `secure-sapefl data check heart`,
    `secure-sapefl data check synthetic --clients 100 --kappa 0.3 --out partition.png`,
    `secure-sapefl data check patients.csv --label outcome --group hospital`
    """
    from secure_sapefl.data import build_federation

    config = Config.read({"dataset": dataset, "data_options": key_values(option), **settings}, "the command line")
    division, options, schema = config.model_dump(include=_DIVIDED_BY), config.data_options, config.data_schema
    with download_progress() as progress:
        federation = build_federation(dataset, options=options, schema=schema, progress=progress, **division)
    if out is not None:
        from secure_sapefl.report.charts.partition import draw_partition

        skew = f", κ = {config.kappa:g}" if federation.partition == "dirichlet" else ""
        draw_partition(federation, out, title=f"{dataset}: {federation.partition}{skew}, seed {config.seed}")
    if output == "json":
        typer.echo(json.dumps(_summary(federation), indent=2))
        return
    _print_federation(federation)
    if out is not None:
        typer.echo(f"Picture: {out}")


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="A registered name; see `secure-sapefl data list`.")]) -> None:
    """Download a dataset from its publisher, verify it, and keep it in the cache as one .npz.

    The cache is SAPEFL_CACHE, or `secure-sapefl` in the XDG cache folder. Example: `secure-sapefl data fetch har`
    """
    from secure_sapefl.data import DATASETS, spec_of
    from secure_sapefl.data.spec import Stored
    from secure_sapefl.data.store import fetch as fetch_stored

    spec = spec_of(name)
    if spec is None:
        raise UnknownName("dataset", name, DATASETS, "secure-sapefl data list")
    if not isinstance(spec.origin, Stored):
        raise BadInput(f"{name!r} is generated, there is nothing to fetch.")
    with going_on_with(same_command), download_progress() as progress:
        path = fetch_stored(spec, spec.origin, progress)
    typer.echo(f"{name}: {path}")


def _entry(spec: "DatasetSpec", data_dir: Path | None) -> dict[str, Any]:
    said = ("name", "task", "classes", "rows", "licence", "source", "preparation")
    here = {"here": _where(spec, data_dir), "options": dict(spec.options)}
    return {key: getattr(spec, key) for key in said} | here


def _where(spec: "DatasetSpec", data_dir: Path | None) -> str:
    from secure_sapefl.data.arrays import read_npz
    from secure_sapefl.data.spec import Stored
    from secure_sapefl.data.store import locate

    if not isinstance(spec.origin, Stored):
        return "generated"
    path = locate(spec.origin, data_dir)
    if path is None:
        return f"no; secure-sapefl data fetch {spec.name}"
    if path.is_dir():
        return path.name
    try:
        shipped = ", comes with the package" if path == spec.origin.shipped else ""
        return f"{path.name} ({len(read_npz(path, only={'y'})['y']):,} rows{shipped})"
    except SapeflError as error:
        return f"unreadable: {error}"


def _summary(federation: "Federation") -> dict[str, Any]:
    return {
        "dataset": federation.dataset,
        "source": federation.source,
        "partition": federation.partition,
        "preparation": federation.preparation,
        "shape": list(federation.shape),
        "class_names": list(federation.class_names),
        "findings": [
            {"name": one.name, "column": one.column, "says": one.says, "dangerous": one.dangerous}
            for one in federation.findings
        ],
        "clients": [
            {"name": client.name, "train": len(client.train), "test": len(client.test), "per_class": counts}
            for client, counts in zip(federation.clients, federation.class_counts().tolist(), strict=True)
        ],
    }


def _print_federation(federation: "Federation") -> None:
    rows = [
        (
            client.name,
            len(client.train),
            len(client.test),
            (counts > 0).sum(),
            f"{federation.kinds_of_rows[counts.argmax()]} ({counts.max() / max(counts.sum(), 1):.0%})",
        )
        for client, counts in zip(federation.clients, federation.class_counts(), strict=True)
    ]
    sound = "sound" if not any(one.dangerous for one in federation.findings) else "would stop a run"
    print_table(f"{federation.dataset}: {sound}", ("site", "train", "test", "classes", "largest class"), rows)
    classes = federation.labels.kind == "class"
    one_class = sum(classes and len(set(client.test.y.tolist())) < 2 for client in federation.clients)
    typer.echo(
        f"{federation.source}; {federation.partition} partition, {len(federation.clients)} sites, "
        f"{federation.classes} {'classes' if classes else 'labels'}, shape {federation.shape}. "
        f"Preparation: {federation.preparation}."
    )
    for found in federation.findings:
        stops = f" This stops a run, unless it is told --accept '{found.name}'." if found.dangerous else ""
        typer.echo(f"{found.sentence}{stops}")
    if one_class:
        typer.echo(f"{one_class} sites have a single class among their test rows: their AUC is undefined.")
