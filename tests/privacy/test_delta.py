"""A delta of 1 / n or more promises nothing; whoever chooses one is told, in one sentence."""

import warnings

import pytest

from secure_sapefl.privacy.delta import warn_of_delta, weak_delta
from secure_sapefl.privacy.errors import PrivacyWarning


@pytest.mark.parametrize(
    ("delta", "rows", "weak"),
    [
        (1e-5, [100, 99_999], None),
        (1e-5, [100, 100_000], "at 1 of 2 sites, which have up to n = 100,000 records"),
        (0.01, [99, 100, 200], "at 2 of 3 sites, which have up to n = 200 records"),
        (0.5, [2], "at 1 of 1 sites, which have up to n = 2 records"),
        (0.5, [1], None),
        (0.5, [0], None),
        (0.5, [], None),
    ],
)
def test_delta_is_weak_from_one_over_n_on(delta: float, rows: list[int], weak: str | None) -> None:
    found = weak_delta(delta, rows)
    assert found is weak if weak is None else weak in str(found)


def test_the_sentence_says_what_to_choose() -> None:
    assert str(weak_delta(0.5, [30, 250])).endswith("Choose a delta far below 0.004.")


def test_a_warning_only_where_there_is_something_to_say() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_delta(1e-5, [100])
    with pytest.warns(PrivacyWarning, match=r"delta = 0\.5 is not below 1 / n"):
        warn_of_delta(0.5, [100])
