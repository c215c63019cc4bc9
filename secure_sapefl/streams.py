"""Random streams keyed by what they are for.

Every draw in a run comes from a stream named by (seed, purpose, round, site). So a result does not depend on the
engine, on the order in which sites are handled, on how they are grouped, or on whether the run was resumed.
"""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is for. Values are part of the reproducibility contract: append, never renumber."""

    INITIAL_WEIGHTS = 1
    SAMPLE_SITES = 2
    LOCAL_BATCHES = 3
    PERSONAL_BATCHES = 4
    CHOOSE_PEERS = 5
    SIMILARITY_ROWS = 6
    FINE_TUNING = 7
    META_BATCHES = 8
    CURVATURE_BATCHES = 9
    ALIGNMENT_BATCHES = 10
    FISHER_BATCHES = 11
    FIRST_CLUSTER = 12
    ANCHOR_ROWS = 13
    LABEL_SHARES = 14
    START_ROWS = 15
    DROPOUT = 16
    SHARED_STEP = 17
    COUNT_NOISE = 18
    RESULT_NOISE = 19


def stream(seed: int, purpose: Purpose, *, round_index: int = 0, site: int = 0) -> np.random.Generator:
    key = np.random.SeedSequence(seed, spawn_key=(int(purpose), round_index, site))
    return np.random.Generator(np.random.Philox(key))
