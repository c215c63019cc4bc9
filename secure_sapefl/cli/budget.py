"""`secure-sapefl budget`: accuracy and AUC against the privacy budget."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format, Quiet
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config

_ASKED_FOR_HERE: Final = ("dp_epsilon", "dp_delta", "dp_noise", "dp_unit")


@takes(Config, without={*shared.FIXED, *_ASKED_FOR_HERE}, defaults={"protection": "plaintext"})
def budget(
    settings: dict[str, Any],
    epsilons: Annotated[str, typer.Option(help="Budgets by commas; inf is no privacy.")] = "0.5,1,2,4,8,inf",
    delta: Annotated[float, typer.Option(help="Far below 1 / rows of a site.")] = 1e-5,
    methods: Annotated[
        str, typer.Option(help="Names by commas; with options: sapefl:refine_epochs=5.")
    ] = "sapefl,ditto,fedavg",
    shared_steps: Annotated[
        int | None, typer.Option(help="Beside each method's own noise, shared noise in so many steps.", min=1)
    ] = None,
    dp_unit: Annotated[
        str, typer.Option(help="Whom ε protects: record, or with shared noise alone person or site.")
    ] = "record",
    tune: Annotated[
        bool, typer.Option("--tune", help="First choose learning rates on training rows held back, alike for all.")
    ] = False,
    seeds: shared.Seeds = 3,
    out: shared.Out = None,
    jobs: shared.Jobs = None,
    cells: shared.Cells = None,
    output: Format = "table",
    quiet: Quiet = False,
) -> None:
    """Show what privacy costs: accuracy and AUC against ε, how the budget divides, and the noise on similarities.

    An interrupted experiment goes on when the same command is given again.

    Examples:

    `secure-sapefl budget`

    `secure-sapefl budget --dataset heart --participation 1 --epsilons 1,4,inf --methods sapefl,local --seeds 5`

    `secure-sapefl budget --dataset har --participation 1 --methods ditto,local --shared-steps 100 --tune`

    `secure-sapefl budget --dataset patients.csv --label outcome --group hospital --epsilons 1,4,inf`
    """
    from secure_sapefl.cli.progress import download_progress
    from secure_sapefl.experiments.budget.chart import chart
    from secure_sapefl.experiments.budget.curves import budget_curves, document
    from secure_sapefl.experiments.budget.request import (
        OFF,
        Request,
        parse_epsilons,
        parse_unit,
        with_shared_noise,
    )
    from secure_sapefl.experiments.budget.tuning import tuned
    from secure_sapefl.experiments.setting import Task, check

    setting = shared.setting_of(settings, seeds)
    request = Request(
        setting=setting,
        task=Task(dataset=setting.base.dataset),
        contenders=with_shared_noise(shared.contenders(methods), shared_steps, parse_unit(dp_unit)),
        epsilons=parse_epsilons(epsilons),
        delta=delta,
    )
    with download_progress() as progress:
        check(request.setting, [request.task_at(min(request.epsilons, default=OFF))], request.contenders, progress)
    request.check()
    out = out or Path("runs") / f"budget-{Path(setting.base.dataset).stem}"
    with shared.running(out, cells, jobs, quiet) as runner:
        curves = budget_curves(tuned(request, runner) if tune else request, runner)
    shared.conclude(document(curves), [chart(curves)], out, output)
