"""Random streams keyed by seed and purpose, so that drawing more in one place changes nothing in another."""

from enum import IntEnum

import numpy as np


class DataPurpose(IntEnum):
    """The numbers are part of every recorded result: append, never renumber."""

    GENERATE = 1
    PARTITION = 2
    SPLIT = 3
    SAMPLE = 4


def stream(seed: int, purpose: DataPurpose, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(purpose), *key)))
