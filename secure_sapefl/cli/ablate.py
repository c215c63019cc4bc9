"""`secure-sapefl ablate`: the paper's three ablations of SAPE-FL."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import given
from secure_sapefl.errors import BadInput


def ablate(
    varied: Annotated[Literal["influence", "kappa", "threshold"], typer.Argument(help="What is varied.")],
    dataset: shared.Datasets = None,
    seeds: shared.Seeds = 3,
    seed: shared.Seed = 0,
    clients: shared.Clients = None,
    rounds: shared.Rounds = 30,
    participation: shared.Participation = 0.7,
    partition: shared.Partition = None,
    kappa: shared.Kappa = 0.3,
    local_epochs: shared.LocalEpochs = 5,
    batch_size: shared.BatchSize = 16,
    lr: shared.Rate = 0.05,
    model: shared.Model = "small",
    protection: shared.Protection = "plaintext",
    rows: shared.Rows = None,
    data_dir: shared.DataDir = None,
    label: shared.Label = None,
    group: shared.Group = None,
    data_option: shared.DataOption = None,
    jobs: shared.Jobs = None,
    cells: shared.Cells = None,
    out: Annotated[Path | None, typer.Option(help="Folder of results. [default: runs/ablation-VARIED]")] = None,
    output: shared.Format = "table",
    quiet: shared.Quiet = False,
) -> None:
    """Vary one setting of SAPE-FL as the paper does, with its numbers beside ours.

    Without `--dataset` these are the paper's for that table, divided as in the paper: 100 clients, 200 rounds
    (threshold: 100). A file's own groups are the sites, unless `--partition` says otherwise; `kappa` always invents
    sites, because κ is how they are drawn.

    Examples:

    `secure-sapefl ablate influence --dataset synthetic`

    `secure-sapefl ablate kappa --clients 100 --rounds 200 --seeds 5 --model paper --data-dir data`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.ablate import METHOD, chart, document
    from secure_sapefl.experiments.ablate import ablate as run
    from secure_sapefl.experiments.paper import ablation_datasets
    from secure_sapefl.experiments.setting import Contender, Task, check

    division = given(partition=_partition(varied, partition, own=dataset is not None))
    setting = shared.setting_of(locals(), evaluate_every=rounds, **division)
    tasks = tuple(Task(dataset=name) for name in shared.split(dataset) or ablation_datasets(varied))
    with download_progress() as progress:
        check(setting, tasks, [Contender(method=METHOD)], progress)
    out = out or Path("runs") / f"ablation-{varied}"
    with shared.running(out, cells, jobs, quiet) as runner:
        result = run(varied, setting, tasks, runner)
    shared.conclude(document(result), [chart(result)], out, output)


def _partition(varied: str, asked: str | None, *, own: bool) -> str | None:
    """None is natural groups where the data has them."""
    if varied == "kappa" and asked not in (None, "dirichlet", "clustered"):
        raise BadInput(f"κ says how made-up sites are drawn; --partition {asked} draws none. Leave --partition out.")
    return asked or (None if own and varied != "kappa" else "dirichlet")
