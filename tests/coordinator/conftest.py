"""Whole deployed studies, in one process."""

from tests.deployed_study import cohort_key, world

__all__ = ["cohort_key", "world"]
