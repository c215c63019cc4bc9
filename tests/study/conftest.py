"""The small study, for what a study is."""

from tests.small_study import coordinator, identities, make_study, study, study_values, write_study

__all__ = ["coordinator", "identities", "make_study", "study", "study_values", "write_study"]
