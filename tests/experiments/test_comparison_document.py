"""A comparison as sheets for people and records for programs."""

import json
from collections.abc import Callable

import pytest

from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.compare import Comparison, Request
from secure_sapefl.experiments.comparison_document import document
from secure_sapefl.experiments.grids import Trial
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.tune import Choice

NAN = float("nan")
COMPARISON = """\
## synthetic: accuracy, %

| method | paper | ours | rank | against best other | p (Holm) | more than noise |
| --- | --- | --- | --- | --- | --- | --- |
| fedavg | 83.19 ± 0.25 | 60.00 ± 7.07 | 2 | -10.00 to sapefl | 0.046 | yes |
| sapefl | 90.83 ± 0.49 | 70.00 ± 7.07 | 1 | +10.00 to fedavg | 0.046 | yes |

## synthetic: AUC, %

| method | paper | ours | rank | against best other | p (Holm) | more than noise |
| --- | --- | --- | --- | --- | --- | --- |
| fedavg | 84.51 ± 0.63 | 60.00 ± 7.07 | 2 | -10.00 to sapefl | 0.046 | yes |
| sapefl | 88.64 ± 0.04 | 70.00 ± 7.07 | 1 | +10.00 to fedavg | 0.046 | yes |

## Tuned on validation rows

| dataset | method | learning rate | option | validation accuracy, % | trials |
| --- | --- | --- | --- | --- | --- |
| synthetic | sapefl | 0.05 | anchor_strength = 3.0 | 61.20 | 9 |
"""


@pytest.fixture
def comparison(tiny: Callable[..., Setting], result: Callable[..., CellResult]) -> Comparison:
    """Four pairs, all ten points apart: W = 0 is (5 - 0) / sqrt(7.5 - 60 / 48) = 2 deviations off its mean."""
    return Comparison(
        request=Request(
            setting=tiny(seeds=2),
            tasks=(Task(dataset="synthetic"),),
            contenders=(Contender(method="fedavg"), Contender(method="sapefl")),
        ),
        results={
            ("synthetic", "fedavg"): (result(0.5, 0.6), result(0.6, 0.7)),
            ("synthetic", "sapefl"): (result(0.6, 0.7), result(0.7, 0.8)),
        },
        choices={
            ("synthetic", "sapefl"): Choice(
                trial=Trial(lr=0.05, options={"anchor_strength": 3.0}), validation=0.612, tried=9
            )
        },
    )


def test_a_comparison_as_markdown(comparison: Comparison) -> None:
    text = document(comparison).to_markdown()
    assert COMPARISON in text
    assert "- 2 rounds, 100% of the sites in each, seeds 0 to 1\n" in text
    assert "plaintext: for research speed" in text
    assert "Wilcoxon signed-rank" in text
    assert "Its numbers are context" in text


def test_where_the_paper_has_nothing_it_is_not_spoken_of(
    tiny: Callable[..., Setting], result: Callable[..., CellResult]
) -> None:
    request = Request(setting=tiny(), tasks=(Task(dataset="mine.csv"),), contenders=(Contender(method="fedavg"),))
    made = document(Comparison(request=request, results={("mine.csv", "fedavg"): (result(0.5),)}, choices={}))
    assert made.sheets[0].header[:3] == ("method", "mean", "rank")
    assert made.sheets[0].rows[0][:3] == ("fedavg", "50.00", "1")
    assert "paper" not in made.to_markdown()


def test_a_comparison_for_programs(comparison: Comparison) -> None:
    made = document(comparison)
    record = made.records[0]
    assert record | {"p": 0, "p_holm": 0} == {
        "dataset": "synthetic",
        "method": "fedavg",
        "metric": "accuracy",
        "paper_mean": 0.8319,
        "paper_std": 0.0025,
        "mean": 0.6,
        "std": 0.070711,
        "rank": 2,
        "best_other": "sapefl",
        "difference": -0.1,
        "p": 0,
        "p_holm": 0,
        "more_than_noise": True,
    }
    tuned = made.to_json()["tuned"]
    assert tuned == [
        {
            "dataset": "synthetic",
            "method": "sapefl",
            "lr": 0.05,
            "options": {"anchor_strength": 3.0},
            "validation": 0.612,
            "tried": 9,
        }
    ]
    assert len(made.to_csv().splitlines()) == 1 + 4
    json.dumps(made.to_json(), allow_nan=False)


def test_several_datasets_get_an_overview_with_mean_ranks(
    tiny: Callable[..., Setting], result: Callable[..., CellResult]
) -> None:
    tasks = Task(dataset="synthetic"), Task(dataset="har", changes={"partition": "natural"})
    request = Request(setting=tiny(), tasks=tasks, contenders=(Contender(method="fedavg"),))
    results = {("synthetic", "fedavg"): (result(0.5),), ("har (natural)", "fedavg"): (result(0.75, second=(NAN,)),)}
    text = document(Comparison(request=request, results=results, choices={})).to_markdown()
    assert "| method | synthetic | har (natural) | mean rank |" in text
    assert "| fedavg | 50.00 (1) | 75.00 (1) | 1.0 |" in text
    assert "| fedavg | 50.00 (1) | – (1) | 1.0 |" in text
