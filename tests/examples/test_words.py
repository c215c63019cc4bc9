"""Conclusions follow from numbers: other numbers, other words."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.config import Config, read_toml
from secure_sapefl.data.datasets.heart import PUBLIC
from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.schema import read_schema
from secure_sapefl.intervals import Interval

HEART = Path(__file__).parents[2] / "examples" / "heart_hospitals"
UP, DOWN, LEVEL = Interval(0.1, 0.05, 0.2), Interval(-0.1, -0.2, -0.05), Interval(0.01, -0.1, 0.1)
MANY, FEW = {"A": (50, 50), "B": (50, 50)}, {"A": (50, 50), "B": (60, 6)}


def concluded(patients: dict[str, tuple[int, int]], **intervals: Interval) -> list[str]:
    """Of one method at ε = 4, given each hospital's gain."""
    words, study = import_module("heart_hospitals.conclusion"), import_module("heart_hospitals.study")
    sapefl = study.Contender("sapefl", 4.0)
    gains = [words.Gain(contender=sapefl, hospital=name, interval=one) for name, one in intervals.items()]
    return list(words.conclusion(gains, patients))


def test_nobody_gained() -> None:
    at, together = concluded(MANY, A=LEVEL, B=LEVEL)
    assert at == "ε = 4. No clear difference from training alone in 2 of 2 comparisons."
    assert "can be told from chance" in together


def test_one_gained() -> None:
    at, together = concluded(MANY, A=UP, B=LEVEL)
    assert "Gained: A by SAPE-FL (+10.0, +5.0 to +20.0)." in at
    assert "Lost" not in at
    assert "helped A (ε = 4), and hurt nobody" in together


def test_one_lost() -> None:
    at, together = concluded(MANY, A=LEVEL, B=DOWN)
    assert "Lost: B by SAPE-FL (−10.0, −20.0 to −5.0)." in at
    assert "hurt B (ε = 4), and helped nobody" in together


def test_one_of_each() -> None:
    assert "It depends: it helped A (ε = 4), and hurt B (ε = 4)." in concluded(MANY, A=UP, B=DOWN)[1]


def test_hospitals_with_few_patients_are_named() -> None:
    assert "B (6)" in concluded(FEW, A=LEVEL, B=LEVEL)[2]


def test_an_undefined_gain_is_none() -> None:
    nothing = Interval(math.nan, math.nan, math.nan)
    assert "in 1 of 1 comparisons" in concluded({"A": (50, 0)}, A=nothing)[0]


def test_the_draft_is_the_simulation() -> None:
    """The study over a network has the simulation's values, ranges and budget."""
    draft, config = read_toml(HEART / "draft.toml"), Config.load(HEART / "simulation.toml")
    same = ("method", "rounds", "local_epochs", "batch_size")
    assert {key: draft[key] for key in same} == {key: getattr(config, key) for key in same}
    assert draft["privacy"] == {"epsilon": config.dp_epsilon, "delta": config.dp_delta, "clip": config.dp_clip}
    features: Any = read_schema(draft["data"])
    assert {f.name: f.range for f in features.features if isinstance(f, Numeric)} == PUBLIC


def test_joining_late_is_judged_by_the_numbers() -> None:
    run = import_module("wearables_har.run")
    found = {
        "joined": [0.8, 0.6],
        "local_only": [0.5, 0.5],
        "global_model": [0.9, 0.6],
        "global_fine_tuned": [0.8, 0.7],
    }
    alone, common, tuned, best = run.verdict(["a", "b"], found)
    assert "ahead for a and b, and behind for nobody; +20.0 points" in alone
    assert "ahead for nobody, and behind for a; −5.0 points" in common
    assert "behind for b" in tuned
    assert "common model, 75.0 %" in best


@pytest.mark.parametrize(("sapefl", "best"), [((0.9, 0.9), "SAPE-FL"), ((0.1, 0.6), "alone")])
def test_imaging_names_the_best(sapefl: tuple[float, float], best: str) -> None:
    said = import_module("imaging.run").verdict({"local": (0.5, 0.5), "fedavg": (0.6, 0.2), "sapefl": sapefl})
    assert f"Best on average: {best}." in said
    assert "FedAvg at 1 of 2 (−10.0 points on average)" in said
