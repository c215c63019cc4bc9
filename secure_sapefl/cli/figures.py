"""`secure-sapefl figures`: the paper's two figures, drawn from runs of ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from secure_sapefl.cli import experiment_options as shared

Figure = Literal["trajectories", "weak-clients"]

PARTICIPATION: Final[Mapping[Figure, float]] = {"trajectories": 0.7, "weak-clients": 1.0}  # as in the paper


def figures(
    figure: Annotated[Figure, typer.Argument(help="Which figure.")],
    dataset: Annotated[str, typer.Option(help="A registered name, or a path to an .npz or .csv file.")] = "synthetic",
    seeds: shared.Seeds = 3,
    seed: shared.Seed = 0,
    clients: Annotated[
        int | None, typer.Option(help="Sites; by default all natural groups, else 20 as in the paper's figures.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of training; 100 as in the paper's figures.")] = 100,
    participation: Annotated[
        float | None, typer.Option(help="Share of sites in a round. [default: 0.7; weak-clients: 1]")
    ] = None,
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
    out: Annotated[Path | None, typer.Option(help="Folder of results. [default: runs/FIGURE]")] = None,
    output: shared.Format = "table",
    quiet: shared.Quiet = False,
) -> None:
    """Draw accuracy over rounds of five random clients, or what the weakest quarter of clients gains over Local-only.

    Examples:

    `secure-sapefl figures trajectories`

    `secure-sapefl figures weak-clients --rounds 30 --seeds 5`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.figures import client_trajectories, weak_clients
    from secure_sapefl.experiments.setting import Contender, Task, check

    setting, task = (
        shared.setting_of(locals(), participation=participation or PARTICIPATION[figure]),
        Task(dataset=dataset),
    )
    with download_progress() as progress:
        check(setting, [task], [Contender(method="sapefl")], progress)
    out = out or Path("runs") / figure
    draw = client_trajectories if figure == "trajectories" else weak_clients
    with shared.running(out, cells, jobs, quiet) as runner:
        document, chart = draw(setting, task, runner)
    shared.conclude(document, [chart], out, output)
