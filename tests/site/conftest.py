"""The small study with a site's folder, and whole deployed studies."""

from tests.deployed_study import cohort_key, world
from tests.small_study import coordinator, data_file, home, identities, make_study, study, study_values, write_study

__all__ = [
    "cohort_key",
    "coordinator",
    "data_file",
    "home",
    "identities",
    "make_study",
    "study",
    "study_values",
    "world",
    "write_study",
]
