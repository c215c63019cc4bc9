"""Ablations vary what they say they vary."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments import runner as runner_module
from secure_sapefl.experiments.ablate import ablate, chart, document
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.paper import Ablation, ablation_values
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Setting, Task


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, result: Callable[..., CellResult]) -> list[Cell]:
    cells: list[Cell] = []

    def made_up(cell: Cell) -> CellResult:
        cells.append(cell)
        return result(0.5 + 0.01 * len(cells), 0.5)

    monkeypatch.setattr(runner_module, "run_cell", made_up)
    return cells


@pytest.mark.parametrize("name", ["influence", "kappa", "threshold"])
def test_the_paper_s_values_and_nothing_else_are_varied(
    name: Ablation, tiny: Callable[..., Setting], runner: Runner, seen: list[Cell]
) -> None:
    ablation = ablate(name, tiny(partition="dirichlet"), (Task(dataset="synthetic"),), runner)
    varied = {
        "influence": [cell.identity["config"]["options"]["influence"] for cell in seen],
        "threshold": [cell.identity["config"]["options"]["similarity_threshold"] for cell in seen],
        "kappa": [cell.config.kappa for cell in seen],
    }
    assert varied.pop(name) == list(ablation_values(name))
    assert all(len(set(values)) == 1 for values in varied.values())
    made = document(ablation)
    assert len(made.records) == len(seen)
    assert made.sheets[0].rows[-1][3] == "1"  # the last is the best of these
    assert all(record["paper_mean"] for record in made.records)
    assert "ours" in made.to_markdown()
    assert chart(ablation).name == f"ablation-{name}"


def test_a_value_equal_to_the_default_shares_its_cell_with_the_comparison(
    tiny: Callable[..., Setting], runner: Runner, seen: list[Cell]
) -> None:
    ablate("influence", tiny(), (Task(dataset="synthetic"),), runner)
    ablate("kappa", tiny(), (Task(dataset="synthetic"),), runner)
    assert len(seen) == 5 + 6 - 1  # influence 0.5 at kappa 0.3 is in both
