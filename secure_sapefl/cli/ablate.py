"""`secure-sapefl ablate`: the paper's three ablations of SAPE-FL."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput


@takes(Config, without={*shared.FIXED, "dataset"}, defaults={"rounds": 30, "protection": "plaintext"})
def ablate(
    settings: dict[str, Any],
    varied: Annotated[Literal["influence", "kappa", "threshold"], typer.Argument(help="What is varied.")],
    dataset: shared.Datasets = None,
    seeds: shared.Seeds = 3,
    out: shared.Out = None,
    jobs: shared.Jobs = None,
    ray: shared.Ray = None,
    cells: shared.Cells = None,
    output: Format = "table",
    quiet: Quiet = False,
) -> None:
    """Vary one setting of SAPE-FL as the paper does, with its numbers beside ours.

    Without `--dataset` these are the paper's for that table, divided as in the paper: 100 sites, 200 rounds
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

    partition = _partition(varied, settings.get("partition"), own=dataset is not None)
    setting = shared.setting_of(settings, seeds, partition=partition, evaluate_every=settings["rounds"])
    tasks = tuple(Task(dataset=name) for name in shared.split(dataset) or ablation_datasets(varied))
    with download_progress() as progress:
        check(setting, tasks, [Contender(method=METHOD)], progress)
    out = out or Path("runs") / f"ablation-{varied}"
    with shared.running(out, cells, jobs, ray, quiet) as runner:
        result = run(varied, setting, tasks, runner)
    shared.conclude(document(result), [chart(result)], out, output)


def _partition(varied: str, asked: str | None, *, own: bool) -> str | None:
    """None is natural groups where the data has them."""
    if varied == "kappa" and asked not in (None, "dirichlet", "clustered"):
        raise BadInput(f"κ says how made-up sites are drawn; --partition {asked} draws none. Leave --partition out.")
    return asked or (None if own and varied != "kappa" else "dirichlet")
