"""Figures: the clients shown, and who counts as weak."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments import runner as runner_module
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.figures import site_trajectories, weak_sites
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Setting, Task

SYNTHETIC = Task(dataset="synthetic")


def answer_with(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Cell], CellResult]) -> list[Cell]:
    seen: list[Cell] = []

    def made_up(cell: Cell) -> CellResult:
        seen.append(cell)
        return answer(cell)

    monkeypatch.setattr(runner_module, "run_cell", made_up)
    return seen


def test_the_weakest_quarter_is_chosen_by_local_models_of_fifteen_epochs(
    tiny: Callable[..., Setting],
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    result: Callable[..., CellResult],
) -> None:
    accuracies = {
        "local": (0.9, 0.3, 0.8, 0.5, 0.7, 0.7, 0.7, 0.7),
        "fedavg": (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5),
        "sapefl": (0.9, 0.6, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9),
    }
    seen = answer_with(monkeypatch, lambda cell: result(*accuracies[cell.config.method]))
    document, chart = weak_sites(tiny(clients=8), SYNTHETIC, runner)
    assert [(r["client"], r["place"], r["gain_fedavg"], r["gain_sapefl"]) for r in document.records] == [
        ("c1", 1, 0.2, 0.3),
        ("c3", 2, 0.0, 0.4),
    ]
    assert document.to_json()["mean_gain"] == {"fedavg": 0.1, "sapefl": 0.35}
    local = next(cell.config for cell in seen if cell.config.method == "local")
    assert (local.rounds, local.local_epochs, local.participation) == (1, 15, 1.0)
    assert "fedavg +10.0, sapefl +35.0" in chart.alt


def test_trajectories_show_five_clients_that_are_the_same_under_every_seed(
    tiny: Callable[..., Setting],
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    result: Callable[..., CellResult],
) -> None:
    def grows(cell: Cell) -> CellResult:
        lines = tuple(tuple(0.1 * r + 0.01 * c + 0.1 * cell.config.seed for c in range(8)) for r in range(4))
        return result(*lines[-1], trajectory=lines)

    seen = answer_with(monkeypatch, grows)
    document, chart = site_trajectories(tiny(seeds=2, clients=8), SYNTHETIC, runner)
    assert [(cell.config.seed, cell.division_seed) for cell in seen] == [(0, 0), (1, 0)]
    clients = document.to_json()["clients"]
    assert len(clients) == 5
    assert len(document.records) == 5 * 4
    first = document.records[0]
    assert first["mean"] == pytest.approx(0.05 + 0.01 * int(first["client"][1:]))
    assert first["std"] == pytest.approx(0.1 / 2**0.5, abs=1e-6)
    assert all(client in chart.alt for client in clients)


def test_a_small_figure_for_real(tiny: Callable[..., Setting], runner: Runner) -> None:
    document, _ = site_trajectories(tiny(), SYNTHETIC, runner)
    assert [record["round"] for record in document.records] == [1, 2, 1, 2]
    assert all(0 <= record["mean"] <= 1 for record in document.records)
