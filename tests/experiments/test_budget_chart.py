"""The curve against ε, and where ∞ stands."""

from pathlib import Path

from secure_sapefl.experiments.budget import OFF, Curves
from secure_sapefl.experiments.budget_chart import chart, places_of
from secure_sapefl.experiments.plots import draw


def test_the_chart_is_drawn_with_infinity_on_its_axis(curves: Curves, tmp_path: Path) -> None:
    made = chart(curves)
    (path,) = draw([made], tmp_path)
    assert path.stat().st_size > 10_000
    assert "ε 2 to ∞" in made.alt


def test_budgets_stand_on_a_logarithmic_scale_and_infinity_beyond_its_end() -> None:
    assert places_of((0.5, 1.0, 4.0, OFF)).tolist() == [-1, 0, 2, 3.5]
    assert places_of((OFF,)).tolist() == [1.5]
