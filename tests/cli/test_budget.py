"""`budget` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path

Cli = Callable[..., tuple[int, str, str]]
SITES = ("--clients", "2", "--partition", "iid", "--local-epochs", "1", "--participation", "1")
DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
BUDGET = ("budget", "--rounds", "1", "--seeds", "1", "--jobs", "1", "--out", "out", *SITES, *DATA)


def test_budget_writes_a_table_numbers_and_a_plot(cli: Cli) -> None:
    code, out, err = cli(*BUDGET, "--epsilons", "2,inf", "--methods", "sapefl,fedavg", "--format", "json")
    assert code == 0, err
    records = json.loads(out)["records"]
    assert [(one["method"], one["epsilon"]) for one in records] == [
        ("sapefl", 2.0),
        ("sapefl", None),
        ("fedavg", 2.0),
        ("fedavg", None),
    ]
    assert "ε 2, seed 0" in err
    assert {path.name for path in Path("out").iterdir()} == {
        "budget.md",
        "budget.csv",
        "budget.json",
        "budget.png",
        "cells",
    }
