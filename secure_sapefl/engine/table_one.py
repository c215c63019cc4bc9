"""Table 1 of a simulated study: every site counts and encrypts, the server adds, a site opens the total."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapefl_crypto import ClaimPolicy, CohortKey, Parameters
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import TableOne, table_one
from secure_sapefl.data.tables.tally import Counts, count_only, counted, entries
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.calibration import Schedule, calibrate
from secure_sapefl.privacy.events import Budget
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.sums import SumOfCounts

_OFFSET = 1 << 24  # keeps noised counts above 0 on their way; taken off the total
_STUDY = "statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a common table is to be made."""

    smallest: int  # cells below are left out
    least: int  # sites in a sum
    budget: Budget | None = None  # of each site; None: exact
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    table: TableOne
    sites: tuple[str, ...]
    bytes_up: int  # that a site sent
    noise: float | None  # deviation of the noise on each count of a site; None where there is none


def simulated_table_one(table: Table, schema: TableSchema, asked: Asked) -> Outcome:
    if table.group is None:
        raise BadInput(
            f'{table.source}: whose records are these? Name the column of the site in the schema: site = "…".'
        )
    deviation = None if asked.budget is None else noise_of(asked.budget, schema)
    sites = {
        name: _counts(table, schema, table.group == code, deviation, np.random.default_rng((asked.seed, code)))
        for code, name in enumerate(table.group_names)
    }
    totals, size = _summed(sites, entries(schema), asked.least)
    if deviation is not None:
        totals = np.where(count_only(schema), totals - _OFFSET * len(sites), 0)
    found = table_one(totals, schema, asked.smallest, noised=deviation is not None)
    return Outcome(table=found, sites=tuple(sites), bytes_up=size, noise=deviation)


def noise_of(budget: Budget, schema: TableSchema) -> float:
    """One release of one vector to which a record adds 1 at one place a column: its L2 norm is sqrt(columns)."""
    schedule = Schedule(rounds=1, steps=0, sample_rate=1.0, queries=1, score_fraction=1.0)
    multiplier = calibrate(budget, schedule).score
    assert multiplier is not None
    return multiplier * float(np.sqrt(len(schema.features)))


def _counts(
    table: Table,
    schema: TableSchema,
    rows: NDArray[np.bool_],
    deviation: float | None,
    rng: np.random.Generator,
) -> Counts:
    exact = counted(table, schema, rows)
    if deviation is None:
        return exact
    noise = np.rint(rng.normal(0, deviation, len(exact))).astype(np.int64)
    return np.where(count_only(schema), np.maximum(exact + noise + _OFFSET, 0), 0)


def _summed(sites: Mapping[str, Counts], length: int, least: int) -> tuple[Counts, int]:
    params = Parameters.exact(max_clients=max(len(sites), 2))
    plan = SumOfCounts(params=params, study=_STUDY, index=1, entries=length, least=least)
    codec = CkksCodec(CohortKey.generate(params), ClaimPolicy(min_cohort=least))
    frames = {name: plan.protected(codec, counts, name) for name, counts in sites.items()}
    return plan.opened(codec, plan.added(frames)), max(map(len, frames.values()))
