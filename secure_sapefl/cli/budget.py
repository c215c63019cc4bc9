"""`secure-sapefl budget`: accuracy and AUC against the privacy budget."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config, PrivacyUnit

_ASKED_FOR_HERE: Final = ("dp_epsilon", "dp_delta", "dp_noise", "dp_unit")


@takes(Config, without={*shared.FIXED, *_ASKED_FOR_HERE}, defaults={"protection": "plaintext"})
def budget(
    settings: dict[str, Any],
    epsilons: Annotated[
        str, typer.Option(help="Budgets, separated by commas; inf means no privacy.")
    ] = "0.5,1,2,4,8,inf",
    delta: Annotated[float, typer.Option(help="Far below 1 / rows of a site.")] = 1e-5,
    methods: Annotated[
        str, typer.Option(help="Names, separated by commas; with options: sapefl:refine_epochs=5.")
    ] = "sapefl,ditto,fedavg",
    dp_noise: Annotated[
        Literal["local", "shared", "both"], typer.Option(help="Each site's own, or shared by all, or side by side.")
    ] = "local",
    shared_steps: Annotated[int, typer.Option(help="Steps of the common model under shared noise.", min=1)] = 100,
    dp_unit: Annotated[
        PrivacyUnit, typer.Option(help="Whom ε protects; a person or a whole site with shared noise alone.")
    ] = "record",
    tune: Annotated[
        bool, typer.Option("--tune", help="First choose learning rates on training rows held back, alike for all.")
    ] = False,
    seeds: shared.Seeds = 3,
    out: shared.Out = None,
    jobs: shared.Jobs = None,
    ray: shared.Ray = None,
    cells: shared.Cells = None,
    output: Format = "table",
    quiet: Quiet = False,
) -> None:
    """Show what privacy costs: accuracy and AUC against ε, how the budget divides, and the noise on similarities.

    An interrupted experiment goes on when the same command is given again.

    Examples:

    `secure-sapefl budget`

    `secure-sapefl budget --dataset heart --participation 1 --epsilons 1,4,inf --methods sapefl,local --seeds 5`

    `secure-sapefl budget --dataset har --participation 1 --methods ditto,local --dp-noise both --tune`

    `secure-sapefl budget --dataset patients.csv --label outcome --group hospital --epsilons 1,4,inf`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.budget.chart import chart
    from secure_sapefl.experiments.budget.curves import budget_curves, document
    from secure_sapefl.experiments.budget.request import OFF, Noise, Request, parse_epsilons
    from secure_sapefl.experiments.budget.tuning import tuned
    from secure_sapefl.experiments.setting import Task, check

    setting = shared.setting_of(settings, seeds)
    noise = Noise(kinds=dp_noise, steps=shared_steps, unit=dp_unit)
    request = Request(
        setting=setting,
        task=Task(dataset=setting.base.dataset),
        contenders=noise.applied(shared.contenders(methods)),
        epsilons=parse_epsilons(epsilons),
        delta=delta,
    )
    with download_progress() as progress:
        check(request.setting, [request.task_at(min(request.epsilons, default=OFF))], request.contenders, progress)
    request.check()
    out = out or Path("runs") / f"budget-{Path(setting.base.dataset).stem}"
    with shared.running(out, cells, jobs, ray, quiet) as runner:
        curves = budget_curves(tuned(request, runner) if tune else request, runner)
    shared.conclude(document(curves), [chart(curves)], out, output)
