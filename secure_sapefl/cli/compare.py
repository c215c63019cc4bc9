"""`secure-sapefl compare`: methods × datasets × seeds, with the paper's numbers beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from secure_sapefl.experiments.setting import Task

Methods = Annotated[str, typer.Option(help="all, or names separated by commas; with options: sapefl:influence=0.25.")]


@takes(Config, without={*shared.FIXED, "dataset"}, defaults={"rounds": 30, "protection": "plaintext"})
def compare(
    settings: dict[str, Any],
    dataset: shared.Datasets = None,
    methods: Methods = "all",
    seeds: shared.Seeds = 3,
    tune: Annotated[bool, typer.Option("--tune", help="First tune every method on validation rows, alike.")] = False,
    tune_rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of a trial. [default: --rounds]")] = None,
    validation: Annotated[
        bool, typer.Option("--validation", help="Judge on a fifth of the training rows; look at no test row.")
    ] = False,
    out: shared.Out = None,
    jobs: shared.Jobs = None,
    ray: shared.Ray = None,
    cells: shared.Cells = None,
    output: Format = "table",
    quiet: Quiet = False,
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
    rounds, partition = settings["rounds"], settings.get("partition")
    setting = shared.setting_of(settings, seeds, evaluate_every=rounds)
    tasks = tuple(task for name in shared.split(dataset or ["synthetic"]) for task in tasks_of(name, partition))
    out = out or Path("runs/comparison")
    contenders = tuple(shared.contenders(methods))
    with download_progress() as progress:
        check(setting, tasks, contenders, progress)
    request = Request(
        setting=setting,
        tasks=tasks,
        contenders=contenders,
        tuning_rounds=(tune_rounds or rounds) if tune else None,
        judged_on="validation" if validation else "test",
    )
    with shared.running(out, cells, jobs, ray, quiet) as runner:
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
