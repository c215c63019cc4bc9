import pytest

from secure_sapefl.intervals import SiteMean
from secure_sapefl.report import formats


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (138_910, "139 kB"), (7_980_000, "7.98 MB"), (2.5e12, "2.5e+03 GB")],
)
def test_size(count, text):
    assert formats.size(count) == text


def test_what_is_not_there_is_a_dash():
    for form in (formats.percent, formats.decimal, formats.points, formats.seconds, formats.size):
        assert form(None) == form(float("nan")) == "–"


def test_points_carry_their_sign():
    assert (formats.points(0.1234), formats.points(-0.05)) == ("+12.3", "−5.0")


def test_seconds_below_one_are_milliseconds():
    assert (formats.seconds(0.0456), formats.seconds(12.34)) == ("46 ms", "12.3 s")


def test_interval_says_why_there_is_none():
    assert formats.interval(SiteMean(0.5, 0.4, 0.6, 3), formats.percent) == "40.0 % to 60.0 %"
    assert formats.interval(SiteMean(0.5, None, None, 1), formats.percent) == "one site, no interval"
    assert formats.interval(SiteMean(None, None, None, 0), formats.percent) == "no site has it"


def test_long_names_end_in_an_ellipsis():
    assert formats.shorten("abcdef", 6) == "abcdef"
    assert formats.shorten("abcdefg", 6) == "abcde…"
