"""One picture of all methods: what is in it follows from the runs that are kept."""

import pytest
from evidence_picture import cost_of, gains, picture, ranks, seen

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.report.charts.drawing import save_png

METHODS = list(ALGORITHMS)


def study(methods):
    """The later a method is named, the better: by a point, and by two at its weakest site."""
    runs = [
        {"method": method, "seed": 0, "judged_on": "test", "main": [place / 50, 0.5 + place / 100], "second": [None]}
        for place, method in enumerate(methods)
    ]
    return {"command": "", "sites": {}, "runs": runs}


def test_ranks_and_gains_are_of_studies_that_every_method_finished():
    kept = {"one": study(METHODS), "two": study(METHODS[::-1]), "half": study(METHODS[1:])}
    last = float(len(METHODS))
    assert ranks(kept)[METHODS[0]] == [last, 1.0]
    place = METHODS.index("local")
    assert gains({"one": study(METHODS)})[METHODS[-1]] == [pytest.approx(2 * (len(METHODS) - 1 - place))]
    assert gains(kept)["local"] == [0.0, 0.0]


def test_who_reads_what_is_what_a_study_discloses():
    assert dict(seen("fedavg")) == {"update": "", "score": "SP"}
    assert dict(seen("sapefl"))["personal model"] == "P"
    assert dict(seen("sapefl-plus"))["update"] == "P"  # it follows from the model they are given
    assert dict(seen("local")).get("update") is None


def test_a_round_without_messages_costs_no_bytes(monkeypatch):
    monkeypatch.setattr("evidence_picture.COSTED", {"clients": 2, "rounds": 1, "rows": 40, "local_epochs": 1})
    assert cost_of("local")["up"] == 0
    assert cost_of("fedavg")["up"] > 10_000


def test_the_picture_names_methods_best_first_and_is_drawn(tmp_path):
    cost = {method: {"seconds": 1.0, "up": 1e5, "down": 2e5} for method in METHODS}
    chart = picture({"one": study(METHODS), "two": study(METHODS)}, cost)
    assert chart.alt.startswith(f"Methods by mean rank, best first: {METHODS[-1]}, ")
    save_png(chart, tmp_path / "methods.png")
    assert (tmp_path / "methods.png").stat().st_size > 20_000
