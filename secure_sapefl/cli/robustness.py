"""`secure-sapefl robustness`: hostile sites, as a table."""

import json
from collections import defaultdict
from dataclasses import asdict
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.config import Config

if TYPE_CHECKING:
    from secure_sapefl.experiments.robustness import RobustnessRow


@takes(Config, without={*shared.FIXED, "scores"}, defaults={"rounds": 20, "protection": "plaintext"})
def robustness(
    settings: dict[str, Any],
    methods: Annotated[str, typer.Option(help="Comma-separated.")] = "sapefl,fedavg",
    share: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of hostile sites.")] = 0.1,
    seeds: Annotated[int, typer.Option(min=1, help="Repeat with this many seeds.")] = 3,
    output: Format = "table",
) -> None:
    """Let some sites attack: flipped labels, updates with the sign turned, and the same with a lie about the score.

    Example: `secure-sapefl robustness --dataset synthetic --clients 20 --rounds 20 --seeds 3`
    """
    from secure_sapefl.experiments.robustness import robustness as run

    config = Config.read(settings, "the command line")
    rows = list(run(config, methods.split(","), seeds, share, lambda news: typer.echo(news, err=True)))
    if output == "json":
        typer.echo(json.dumps([asdict(row) for row in rows]))
    else:
        Console().print(_table(rows, share))


def _table(rows: "list[RobustnessRow]", share: float) -> Table:
    cells: dict[tuple[str, str], list[RobustnessRow]] = defaultdict(list)
    for row in rows:
        cells[row.attack, row.method].append(row)
    table = Table("attack", "method", "own models", "global model", "hostile weight")
    for (attack, method), found in cells.items():
        means = (mean(getattr(row, name) for row in found) for name in ("personal", "everywhere", "hostile_share"))
        table.add_row(attack, method, *(f"{value:.3f}" for value in means))
    table.caption = f"Accuracy at honest sites; {share:.0%} of the sites hostile; mean over {len(found)} seeds."
    return table
