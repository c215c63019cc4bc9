"""Seconds of a run, phase by phase."""

from secure_sapefl.report.phases import seconds_by_phase


def test_seconds_that_no_phase_explains_are_shown_too(make_run):
    assert seconds_by_phase(make_run()) == {"local": 4.0, "encrypt": 1.0, "other": 1.0}
