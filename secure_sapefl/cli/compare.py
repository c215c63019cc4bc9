"""`secure-sapefl compare`: methods × datasets × seeds, with the paper's numbers beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.experiments.setting import Task

Methods = Annotated[str, typer.Option(help="all, or names by commas; with options: sapefl:influence=0.25.")]


def compare(
    dataset: shared.Datasets = None,
    methods: Methods = "all",
    seeds: shared.Seeds = 3,
    seed: shared.Seed = 0,
    clients: shared.Clients = None,
    rounds: shared.Rounds = 30,
    participation: shared.Participation = 0.7,
    partition: shared.Partition = None,
    kappa: shared.Kappa = 0.3,
    clusters: shared.Clusters = 4,
    local_epochs: shared.LocalEpochs = 5,
    batch_size: shared.BatchSize = 16,
    lr: shared.Rate = 0.05,
    model: shared.Model = "small",
    protection: shared.Protection = "plaintext",
    rows: shared.Rows = None,
    tune: Annotated[bool, typer.Option("--tune", help="First tune every method on validation rows, alike.")] = False,
    tune_rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of a trial. [default: --rounds]")] = None,
    data_dir: shared.DataDir = None,
    label: shared.Label = None,
    group: shared.Group = None,
    data_option: shared.DataOption = None,
    jobs: shared.Jobs = None,
    cells: shared.Cells = None,
    out: Annotated[Path, typer.Option(help="Folder of the comparison; the same command goes on there.")] = Path(
        "runs/comparison"
    ),
    output: shared.Format = "table",
    quiet: shared.Quiet = False,
) -> None:
    """Compare methods on datasets: accuracy and AUC, ranks, the paper's numbers, and whether a lead is more than noise.

    A file's own groups are the sites, unless `--partition` says otherwise. `NAME@PARTITION` divides one dataset its own
    way. `--dataset all` means the paper's eight, divided as in the paper. An interrupted comparison goes on when the
    same command is given again.

    Examples:

    `secure-sapefl compare`

    `secure-sapefl compare --dataset patients.csv --label outcome --group hospital --methods local,fedavg,sapefl`

    `secure-sapefl compare --dataset synthetic,synthetic@clustered,har@natural --methods local,ditto,sapefl --tune`

    `secure-sapefl compare --dataset all --clients 100 --rounds 200 --seeds 5 --model paper`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.compare import Request
    from secure_sapefl.experiments.compare import compare as run
    from secure_sapefl.experiments.comparison_charts import charts
    from secure_sapefl.experiments.comparison_document import document
    from secure_sapefl.experiments.setting import check

    if tune_rounds is not None and not tune:
        raise BadInput("--tune-rounds says how long a trial of --tune is; give --tune as well.")
    setting = shared.setting_of(locals(), evaluate_every=rounds)
    tasks = tuple(task for name in shared.split(dataset or ["synthetic"]) for task in tasks_of(name, partition))
    contenders = tuple(shared.contenders(methods))
    with download_progress() as progress:
        check(setting, tasks, contenders, progress)
    request = Request(
        setting=setting, tasks=tasks, contenders=contenders, tuning_rounds=(tune_rounds or rounds) if tune else None
    )
    with shared.running(out, cells, jobs, quiet) as runner:
        comparison = run(request, runner)
    shared.conclude(document(comparison), charts(comparison), out, output)


def tasks_of(text: str, partition: str | None) -> "list[Task]":
    """``har@natural``; a path may hold an @ of its own. ``all`` is divided as in the paper, or as asked for."""
    from secure_sapefl.data import PARTITIONS
    from secure_sapefl.experiments import paper
    from secure_sapefl.experiments.setting import Task

    if text == "all":
        division = {"partition": partition or paper.PARTITION}
        return [Task(dataset=name, changes=division) for name in paper.datasets()]
    name, _, own = text.rpartition("@")
    return [Task(dataset=name, changes={"partition": own}) if own in PARTITIONS else Task(dataset=text)]
