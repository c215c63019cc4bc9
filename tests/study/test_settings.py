"""What a coordinator may choose: names fit for files, purposes on one line, and none of a site's own code."""

from typing import Any

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.study.settings import CkksPlan, PrivacyTerms, StudySettings

LEAST: dict[str, Any] = {"name": "heart", "largest_site": 10, "protection": {"max_clients": 2}}


def read(**changed: Any) -> StudySettings:
    return StudySettings.read({**LEAST, **changed}, "the study")


def test_what_is_not_said_has_a_default_and_privacy_has_none() -> None:
    settings = read()
    assert (settings.purpose, settings.participation, settings.min_cohort, settings.privacy) == ("", 1.0, 2, None)
    assert settings.protection.max_abs_value == 8.0
    assert PrivacyTerms(epsilon=1, delta=1e-5).noise == "secure"


@pytest.mark.parametrize("name", ["a", "Heart-2.b_c", "0", "x" * 64])
def test_a_name_is_fit_for_a_file(name: str) -> None:
    assert read(name=name).name == name


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *(({"name": name}, "beginning with a letter") for name in ("../up", ".hidden", "a b", "x" * 65, "é")),
        ({"purpose": "two\nlines"}, "one line of printable text"),
        ({"task": "mine.py:TASK"}, "own tasks run in simulations"),
        ({"class_weights": "balanced"}, "give the weights"),
        ({"class_weights": "1,x"}, "parted by commas"),
        ({"model": "mine.py:Net"}, "a study holds the code itself"),
        ({"largest_site": 0}, "largest_site"),
        ({"records": {"a": 0}}, "records"),
        ({"privacy": {"epsilon": 0, "delta": 1e-5}}, "epsilon"),
        ({"privacy": {"epsilon": 1, "delta": 1e-5, "clip": 1e300}}, "between 1e-30 and 1e30"),
    ],
)
def test_what_is_none_is_said(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        read(**change)


def test_a_cohort_has_two_sites_at_least() -> None:
    with pytest.raises(BadInput, match="max_clients"):
        CkksPlan.read({"max_clients": 1}, "the plan")
