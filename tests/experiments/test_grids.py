"""Nobody is tuned more than another."""

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.experiments.grids import COARSE_RATES, FINE_RATES, MAIN_OPTIONS, trials


@pytest.mark.parametrize("method", [*ALGORITHMS, "a-method-nobody-wrote-yet"])
def test_every_method_gets_nine_different_trials_over_the_same_range_of_rates(method: str) -> None:
    grid = trials(method, {})
    assert len({(trial.lr, *trial.options.items()) for trial in grid}) == len(grid) == 9
    assert (min(trial.lr for trial in grid), max(trial.lr for trial in grid)) == (COARSE_RATES[0], COARSE_RATES[-1])


@pytest.mark.parametrize("method", [name for name in MAIN_OPTIONS if name in ALGORITHMS])
def test_declared_values_are_possible(method: str) -> None:
    for trial in trials(method, {}):
        read = ALGORITHMS[method].options.read(trial.options, method).model_dump()
        assert {name: read[name] for name in trial.options} == dict(trial.options)


@pytest.mark.parametrize("method", list(MAIN_OPTIONS))
def test_an_option_the_user_fixed_is_not_tuned_and_the_effort_stays(method: str) -> None:
    grid = trials(method, {MAIN_OPTIONS[method].name: MAIN_OPTIONS[method].values[0]})
    assert [trial.lr for trial in grid] == list(FINE_RATES)
    assert all(not trial.options for trial in grid)
