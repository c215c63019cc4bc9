"""Sites × methods, and what each site is told."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.compare import Comparison, Request
from secure_sapefl.experiments.comparison_document import document
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.site_intervals import MOST_SITES
from secure_sapefl.experiments.site_table import site_records, site_rows, site_sheets
from secure_sapefl.metrics import ERRORS
from secure_sapefl.report.shown import Shown

HEART = Task(dataset="heart")
ACCURACY = {"local": (0.5, 0.9), "fedavg": (0.6, 0.4), "sapefl": (0.9, 0.6)}


@pytest.fixture
def compared(tiny: Callable[..., Setting], result: Callable[..., CellResult]) -> Callable[..., Comparison]:
    """Two sites with 100 test rows each; the second seed is 0.02 better everywhere."""

    def make(*methods: str, sites: int = 2, test_rows: int = 100, **changes: object) -> Comparison:
        contenders = tuple(Contender(method=method) for method in methods)
        results = {}
        for method in methods:
            one = (ACCURACY[method] * sites)[:sites]
            rows = (test_rows,) * sites if test_rows else ()
            more = tuple(value + 0.02 for value in one)
            seeds = (result(*one, test_rows=rows, **changes), result(*more, test_rows=rows, **changes))
            results["heart", method] = seeds
        return Comparison(
            request=Request(setting=tiny(seeds=2), tasks=(HEART,), contenders=contenders), results=results, choices={}
        )

    return make


def test_every_site_has_its_mean_over_seeds_with_an_interval(compared: Callable[..., Comparison]) -> None:
    first, second = site_rows(compared("local", "fedavg", "sapefl"), HEART)
    assert (first.site, first.test_rows, first.by_method["sapefl"].value) == ("c0", 100, pytest.approx(0.91))
    assert first.by_method["sapefl"].low < 0.91 < first.by_method["sapefl"].high
    assert first.verdict is not None
    assert first.verdict.startswith("its own model is 40.0 points better than alone and 30.0 points better")
    assert second.verdict is not None
    assert second.verdict.endswith("this site should keep to itself")


@pytest.mark.parametrize("methods", [("local", "sapefl"), ("fedavg", "sapefl"), ("local", "fedavg")])
def test_no_verdict_without_all_three(compared: Callable[..., Comparison], methods: tuple[str, ...]) -> None:
    comparison = compared(*methods)
    assert [row.verdict for row in site_rows(comparison, HEART)] == [None, None]
    assert len(list(site_sheets(comparison))) == 1


def test_the_report_has_both_tables_and_programs_have_all_numbers(compared: Callable[..., Comparison]) -> None:
    made = document(compared("local", "fedavg", "sapefl"))
    text = made.to_markdown()
    assert "| c0 | 100 | 51.0 (41–61) | 61.0 (51–70) | 91.0 (84–95) |" in text
    assert "## heart: was it worth it?" in text
    assert "Wilson" in text
    record = made.to_json()["sites"][1]
    assert (record["site"], record["accuracy"]["local"]["value"]) == ("c1", 0.91)


def test_too_many_sites_are_left_to_programs(compared: Callable[..., Comparison]) -> None:
    comparison = compared("local", sites=MOST_SITES + 1)
    assert list(site_sheets(comparison)) == []
    assert len(site_records(comparison)) == MOST_SITES + 1


def test_results_that_do_not_say_how_many_rows_they_rest_on_get_no_table(compared: Callable[..., Comparison]) -> None:
    assert list(site_sheets(compared("local", "fedavg", "sapefl", test_rows=0))) == []


MAE = tuple(Shown.from_metric(metric) for metric in ERRORS[:2])


def test_where_less_is_better_a_site_is_told_so(compared: Callable[..., Comparison]) -> None:
    """Seeds share their bounds here: 0.3 to 1.0 at the first site, which overlaps, and nearly none at the second."""
    shared = {"shown": MAE, "low": (0.3, 0.5), "high": (1.0, 0.5)}
    comparison = compared("local", "fedavg", "sapefl", **shared)
    first, second = site_rows(comparison, HEART)
    assert (first.by_method["sapefl"].low, first.by_method["sapefl"].high) == (0.3, 1.0)
    assert first.verdict is not None
    assert first.verdict.startswith("its own model is 0.4 worse in MAE than alone and 0.3 worse in MAE than one common")
    assert first.verdict.endswith("nothing gained here")
    assert second.verdict is not None
    assert "0.3 better in MAE than alone" in second.verdict
    text = document(comparison).to_markdown()
    assert "## heart: MAE at each site, lower is better (interval)" in text
    assert "| c0 | 100 | 0.51 (0.3 to 1) |" in text
    assert "was it worth it?" in text
    assert site_records(comparison)[0]["mae"]["local"]["value"] == 0.51


def test_without_bounds_nobody_is_told_anything(compared: Callable[..., Comparison]) -> None:
    assert [row.verdict for row in site_rows(compared("local", "fedavg", "sapefl", shown=MAE), HEART)] == [None, None]
