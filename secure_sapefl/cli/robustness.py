"""`secure-sapefl robustness`: hostile sites, as a table."""

import json
from collections import defaultdict
from dataclasses import asdict
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secure_sapefl.cli import experiment_options as shared
from secure_sapefl.cli.options import Format
from secure_sapefl.cli.setting_options import takes
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.config import Config

if TYPE_CHECKING:
    from secure_sapefl.experiments.robustness import RobustnessRow

_NUMBERS = ("personal", "everywhere", "hostile_share")


@takes(Config, without={*shared.FIXED, "scores"}, defaults={"rounds": 20, "protection": "plaintext"})
def robustness(
    settings: dict[str, Any],
    methods: Annotated[str, typer.Option(help="Names of methods, separated by commas.")] = "sapefl,fedavg",
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
        _show(rows, share)


def _show(rows: "list[RobustnessRow]", share: float) -> None:
    cells: dict[tuple[str, str], list[RobustnessRow]] = defaultdict(list)
    for row in rows:
        cells[row.attack, row.method].append(row)
    shown = [(*key, *(_mean(found, name) for name in _NUMBERS)) for key, found in cells.items()]
    seeds = len({row.seed for row in rows})
    caption = f"Accuracy at honest sites; {share:.0%} of the sites hostile; mean over {seeds} seeds."
    print_table("", ("attack", "method", "own models", "global model", "hostile weight"), shown, caption=caption)


def _mean(rows: "list[RobustnessRow]", name: str) -> str:
    return f"{mean(getattr(row, name) for row in rows):.3f}"
