"""Table 1 of a simulated study: every site counts and encrypts, the server adds, a site opens the total."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapefl_crypto import ClaimPolicy, CohortKey, Parameters
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import TableOne, table_one
from secure_sapefl.data.tables.tally import Counts, count_only, counted, entries
from secure_sapefl.engine.privacy import stores
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.calibration import Schedule, calibrate
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Paid
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
    ledgers: Path | None = None  # folder of the sites' ledgers; None: in memory
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
    payments = None if asked.budget is None else _paid(asked.budget, asked.ledgers, table.group_names)
    sites = {}
    for code, name in enumerate(table.group_names):
        exact = counted(table, schema, table.group == code)
        rng = np.random.default_rng((asked.seed, code))
        sites[name] = exact if payments is None else _noised(exact, schema, payments[name], rng)
    totals, size = _summed(sites, entries(schema), asked.least)
    if payments is not None:
        totals = np.where(count_only(schema), totals - _OFFSET * len(sites), 0)
    found = table_one(totals, schema, asked.smallest, noised=payments is not None)
    noise = None if asked.budget is None else noise_of(asked.budget, schema)
    return Outcome(table=found, sites=tuple(sites), bytes_up=size, noise=noise)


def noise_of(budget: Budget, schema: TableSchema) -> float:
    """Its standard deviation on each count."""
    return _multiplier(budget) * _sensitivity(schema)


def _sensitivity(schema: TableSchema) -> float:
    """A record adds 1 at one place a column: the L2 norm of that."""
    return float(np.sqrt(len(schema.features)))


def _multiplier(budget: Budget) -> float:
    """Of one release of one vector, on the whole budget."""
    schedule = Schedule(rounds=1, steps=0, sample_rate=1.0, queries=1, score_fraction=1.0)
    multiplier = calibrate(budget, schedule).score
    assert multiplier is not None
    return multiplier


def _paid(budget: Budget, folder: Path | None, sites: Sequence[str]) -> dict[str, Paid]:
    """Every site's payment, on record in its ledger before anything is counted."""
    event = Event(
        mechanism="gaussian",
        release="table 1",
        noise_multiplier=_multiplier(budget),
        sample_rate=1.0,
        steps=1,
        round_index=0,
        study=_STUDY,
    )
    store, payments = stores(folder), {}
    for site in sites:
        ledger = Ledger(site, budget, store(site))
        with closing(ledger):
            (payments[site],) = ledger.charge([event])
    return payments


def _noised(exact: Counts, schema: TableSchema, paid: Paid, rng: np.random.Generator) -> Counts:
    deviation = paid.spend().noise_multiplier * _sensitivity(schema)
    noise = np.rint(rng.normal(0, deviation, len(exact))).astype(np.int64)
    return np.where(count_only(schema), np.maximum(exact + noise + _OFFSET, 0), 0)


def _summed(sites: Mapping[str, Counts], length: int, least: int) -> tuple[Counts, int]:
    params = Parameters.exact(max_clients=max(len(sites), 2))
    plan = SumOfCounts(params=params, study=_STUDY, index=1, entries=length, least=least)
    codec = CkksCodec(CohortKey.generate(params), ClaimPolicy(min_cohort=least))
    frames = {name: plan.protected(codec, counts, name) for name, counts in sites.items()}
    return plan.opened(codec, plan.added(frames)), max(map(len, frames.values()))
