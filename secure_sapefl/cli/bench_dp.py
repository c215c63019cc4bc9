"""`secure-sapefl bench dp`: a private step against a plain one, by mode."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from secure_sapefl.privacy.bench import StepCost


def dp(
    batch_size: Annotated[int, typer.Option(min=1, help="Records in a step.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of five steps for each mode.")] = 10,
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Differential privacy: one site's step with clipping and noise against a plain one, ours and Opacus' own.

    Example: `secure-sapefl bench dp --batch-size 32 --format json`
    """
    from secure_sapefl.privacy.bench import GOAL, step_costs

    costs = list(step_costs(batch_size, repeats, lambda news: typer.echo(news, err=True)))
    ours = next(cost for cost in costs if cost.mode == "ours")
    if output == "json":
        goal = {"at_most": GOAL, "measured": ours.ratio, "met": ours.ratio <= GOAL}
        typer.echo(json.dumps({"batch_size": batch_size, "steps": [cost.to_json() for cost in costs], "goal": goal}))
        return
    console = Console()
    console.print(_table(costs, batch_size))
    met = "met" if ours.ratio <= GOAL else "not met"
    console.print(f"Goal: at most {GOAL:g} plain steps on the {ours.model}: {ours.ratio:.1f}, {met}.", highlight=False)


def _table(costs: "list[StepCost]", batch_size: int) -> Table:
    table = Table("model", "parameters", "step", "ms", "in plain steps", title=f"Batch {batch_size}, one site")
    for cost in costs:
        table.add_row(cost.model, f"{cost.parameters:,}", cost.mode, f"{cost.milliseconds:.2f}", f"{cost.ratio:.1f}×")
    return table
