"""`secure-sapefl bench dp`: a private step against a plain one, by mode."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table

if TYPE_CHECKING:
    from secure_sapefl.privacy.bench import StepCost
    from secure_sapefl.privacy.modules.bench import ClippingCost


def dp(
    batch_size: Annotated[int, typer.Option(min=1, help="Records in a step.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of five steps for each mode.")] = 10,
    output: Format = "table",
) -> None:
    """Differential privacy: one site's step with clipping and noise against a plain one, ours and Opacus' own; and
    modules, whose records are clipped with their gradients formed or by ghost clipping.

    Example: `secure-sapefl bench dp --batch-size 32 --format json`
    """
    from secure_sapefl.privacy.bench import GOAL, step_costs
    from secure_sapefl.privacy.modules.bench import clipping_costs

    def tell(news: str) -> None:
        typer.echo(news, err=True)

    costs, modules = list(step_costs(batch_size, repeats, tell)), list(clipping_costs(batch_size, repeats, tell))
    ours = next(cost for cost in costs if cost.mode == "ours")
    if output == "json":
        goal = {"at_most": GOAL, "measured": ours.ratio, "met": ours.ratio <= GOAL}
        found = {"steps": [asdict(cost) for cost in costs], "modules": [cost.to_json() for cost in modules]}
        typer.echo(json.dumps({"batch_size": batch_size, **found, "goal": goal}))
        return
    columns = ("model", "parameters", "step", "ms", "in plain steps")
    print_table(f"Batch {batch_size}, one site", columns, map(_cells, costs))
    ways = ("module", "parameters", "formed, CPU ms", "ghost, CPU ms", "ghost to formed", "used")
    print_table(f"Clipped sums of modules, batch {batch_size}, one site", ways, map(_module_cells, modules))
    met = "met" if ours.ratio <= GOAL else "not met"
    typer.echo(f"Goal: at most {GOAL:g} plain steps on the {ours.model}: {ours.ratio:.1f}, {met}.")


def _cells(cost: "StepCost") -> tuple[str, ...]:
    return cost.model, f"{cost.parameters:,}", cost.mode, f"{cost.milliseconds:.2f}", f"{cost.ratio:.1f}×"


def _module_cells(cost: "ClippingCost") -> tuple[str, ...]:
    times = (f"{cost.formed_milliseconds:.2f}", f"{cost.ghost_milliseconds:.2f}", f"{cost.ratio:.2f}×")
    return cost.model, f"{cost.parameters:,}", *times, cost.used
