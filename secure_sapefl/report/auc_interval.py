"""How sure an AUC is: the percentile bootstrap over patients, stratified by outcome and seeded.

A study on few patients is repeated with other divisions into training and test rows, and the AUC is the mean over
divisions. One patient is then tested several times, and these are not several patients: the bootstrap draws patients,
and takes with each all of its tests. Two models are compared on the same draws, which takes out what makes the patients
easy or hard for both. It says how far the number would move with other test patients like these, and nothing of other
training patients.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.intervals import Interval, drawn_weights
from secure_sapefl.metrics import Floats

RESAMPLES: Final = 2_000
_SEED: Final = 20_260_102


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One model on one set of test rows. Equal numbers in ``patient`` are the same patient, in other sets too."""

    patient: NDArray[np.int64]
    positive: NDArray[np.bool_]
    score: Floats


def auc_interval(tests: Sequence[Ranked]) -> Interval:
    """Of the mean over sets."""
    draws = _draws(tests)
    return Interval.from_resamples(draws[0], draws[1:])


def auc_gain(tests: Sequence[Ranked], others: Sequence[Ranked]) -> Interval:
    """Of ``tests`` minus ``others``: two models on the same rows."""
    draws = _draws(tests) - _draws(others)
    return Interval.from_resamples(draws[0], draws[1:])


def same_rows(sets: Sequence[NDArray[np.float32]]) -> list[NDArray[np.int64]]:
    """Numbers for the rows of several sets: equal rows get equal numbers."""
    flat = np.concatenate([rows.reshape(len(rows), -1) for rows in sets])
    numbers = np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.split(numbers, np.cumsum([len(rows) for rows in sets])[:-1])


def _draws(tests: Sequence[Ranked]) -> Floats:
    """The mean AUC with every patient counted once, then as often as each resample draws them."""
    patients, first = np.unique(np.concatenate([test.patient for test in tests]), return_index=True)
    outcome = np.concatenate([test.positive for test in tests])[first]
    drawn = drawn_weights([outcome, ~outcome], np.random.default_rng(_SEED), RESAMPLES)
    weights = np.vstack([np.ones(len(outcome)), drawn])
    aucs = np.stack([_weighted_auc(test, weights[:, np.searchsorted(patients, test.patient)]) for test in tests])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean of nothing is NaN, which is what is meant
        return np.asarray(np.nanmean(aucs, axis=0))


def _weighted_auc(test: Ranked, weights: Floats) -> Floats:
    """sum_ij w_i w_j [s_i > s_j] / sum_ij w_i w_j over positives i and negatives j; a tie counts half."""
    above = np.sign(test.score[test.positive][:, None] - test.score[~test.positive]) / 2 + 0.5
    positive, negative = weights[:, test.positive], weights[:, ~test.positive]
    pairs = positive.sum(1) * negative.sum(1)
    wins = ((positive @ above) * negative).sum(1)
    return np.asarray(np.divide(wins, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))
