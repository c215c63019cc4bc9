"""A panel a method, with the bounds it is held against."""

from collections.abc import Callable
from pathlib import Path

from secure_sapefl.experiments.budget.chart import chart, columns_of
from secure_sapefl.experiments.budget.curves import Curves
from secure_sapefl.experiments.budget.request import Noise, Request
from secure_sapefl.experiments.plots import draw


def test_the_chart_is_drawn_and_told_in_words(curves: Curves, tmp_path: Path) -> None:
    made = chart(curves)
    (path,) = draw([made], tmp_path)
    assert path.stat().st_size > 10_000
    assert "ε 2 to ∞" in made.alt


def test_both_kinds_of_noise_stand_in_one_column_beside_who_needs_none(request_for: Callable[..., Request]) -> None:
    contenders = Noise(kinds="both").applied(request_for("fedavg", "lcfed", "local").contenders)
    columns = {name: [one.label for one in those] for name, those in columns_of(contenders).items()}
    assert columns == {"fedavg": ["fedavg", "fedavg, shared noise", "local"], "lcfed": ["lcfed", "local"]}
    assert list(columns_of(request_for("local").contenders)) == ["local"]
