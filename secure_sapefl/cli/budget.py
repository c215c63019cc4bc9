"""`secure-sapefl budget`: accuracy and AUC against the privacy budget."""

from pathlib import Path
from typing import Annotated

import typer

from secure_sapefl.cli import experiment_options as shared


def budget(
    epsilons: Annotated[str, typer.Option(help="Budgets by commas; inf is no privacy.")] = "0.5,1,2,4,8,inf",
    delta: Annotated[float, typer.Option(help="Far below 1 / rows of a site.")] = 1e-5,
    dataset: Annotated[str, typer.Option(help="A name or file.")] = "synthetic",
    methods: Annotated[
        str, typer.Option(help="Names by commas; with options: sapefl:refine_epochs=5.")
    ] = "sapefl,ditto,fedavg",
    seeds: shared.Seeds = 3,
    seed: shared.Seed = 0,
    clients: shared.Clients = None,
    rounds: shared.Rounds = 10,
    participation: shared.Participation = 0.7,
    partition: shared.Partition = None,
    kappa: shared.Kappa = 0.3,
    clusters: shared.Clusters = 4,
    local_epochs: shared.LocalEpochs = 5,
    batch_size: shared.BatchSize = 16,
    lr: shared.Rate = 0.05,
    model: shared.Model = "small",
    protection: shared.Protection = "plaintext",
    peers_per_client: Annotated[int | None, typer.Option(help="Give each site a random k peers, not all.")] = None,
    dp_clip: Annotated[float, typer.Option(help="Largest gradient of one record.")] = 1.0,
    dp_score_fraction: Annotated[float, typer.Option(help="Share of the budget for similarity scores.")] = 0.1,
    rows: shared.Rows = None,
    data_dir: shared.DataDir = None,
    label: shared.Label = None,
    group: shared.Group = None,
    data_option: shared.DataOption = None,
    jobs: shared.Jobs = None,
    cells: shared.Cells = None,
    out: Annotated[Path | None, typer.Option(help="Folder of results. [default: runs/budget-DATASET]")] = None,
    output: shared.Format = "table",
    quiet: shared.Quiet = False,
) -> None:
    """Show what privacy costs: accuracy and AUC against ε, how the budget divides, and the noise on similarities.

    An interrupted experiment goes on when the same command is given again.

    Examples:

    `secure-sapefl budget`

    `secure-sapefl budget --dataset heart --participation 1 --epsilons 1,4,inf --methods sapefl,local --seeds 5`

    `secure-sapefl budget --dataset patients.csv --label outcome --group hospital --epsilons 1,4,inf`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.budget import Request, budget_curves, document, parse_epsilons
    from secure_sapefl.experiments.budget_chart import chart
    from secure_sapefl.experiments.setting import Task, check

    request = Request(
        setting=shared.setting_of(locals()),
        task=Task(dataset=dataset),
        contenders=tuple(shared.contenders(methods)),
        epsilons=parse_epsilons(epsilons),
        delta=delta,
    )
    with download_progress() as progress:
        check(request.setting, [request.task], request.contenders, progress)
    request.check()
    out = out or Path("runs") / f"budget-{Path(dataset).stem}"
    with shared.running(out, cells, jobs, quiet) as runner:
        curves = budget_curves(request, runner)
    shared.conclude(document(curves), [chart(curves)], out, output)
