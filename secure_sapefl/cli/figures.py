"""`secure-sapefl figures`: the paper's two figures, drawn from runs of ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config

Figure = Literal["trajectories", "weak-clients"]

PARTICIPATION: Final[Mapping[Figure, float]] = {"trajectories": 0.7, "weak-clients": 1.0}  # as in the paper


@takes(Config, without=shared.FIXED, defaults={"rounds": 100, "protection": "plaintext"})
def figures(
    settings: dict[str, Any],
    figure: Annotated[Figure, typer.Argument(help="Which figure.")],
    seeds: shared.Seeds = 3,
    out: shared.Out = None,
    jobs: shared.Jobs = None,
    ray: shared.Ray = None,
    cells: shared.Cells = None,
    output: Format = "table",
    quiet: Quiet = False,
) -> None:
    """Draw accuracy over rounds of five random sites, or what the weakest quarter of sites gains over Local-only.

    As in the paper, all sites take part in every round of `weak-clients`, unless `--participation` says otherwise.

    Examples:

    `secure-sapefl figures trajectories`

    `secure-sapefl figures weak-clients --rounds 30 --seeds 5`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.figures import site_trajectories, weak_sites
    from secure_sapefl.experiments.setting import Contender, Task, check

    setting = shared.setting_of({"participation": PARTICIPATION[figure], **settings}, seeds)
    task = Task(dataset=setting.base.dataset)
    with download_progress() as progress:
        check(setting, [task], [Contender(method="sapefl")], progress)
    out = out or Path("runs") / figure
    draw = site_trajectories if figure == "trajectories" else weak_sites
    with shared.running(out, cells, jobs, ray, quiet) as runner:
        document, chart = draw(setting, task, runner)
    shared.conclude(document, [chart], out, output)
