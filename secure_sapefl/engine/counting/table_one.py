"""Table 1 of a simulated study: every site counts and encrypts, the server adds, a site opens the total."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import TableOne, table_one
from secure_sapefl.data.tables.tally import CountPlan, by_class
from secure_sapefl.engine.counting.sums import summed
from secure_sapefl.engine.privacy import stores
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.counts import CountNoise, count_event, multiplier_of
from secure_sapefl.privacy.events import TABLE_ONE, Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.protocol.counting import counting_study
from secure_sapefl.streams import Purpose, stream

_STUDY: Final = "statistics"


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
    if len(table.group_names) < asked.least:  # known before anybody pays for noise
        raise BadInput(
            f"{table.source} of {len(table.group_names)} sites: {asked.least} are asked for in a sum. Choose a smaller "
            "--min-cohort."
        )
    plan, sites = by_class(schema), {}
    payments = None if asked.budget is None else _paid(asked.budget, asked.ledgers, table.group_names)
    for code, name in enumerate(table.group_names):
        rows = table.group == code
        exact = plan.counted(table.X[rows], table.y[rows])
        drawn = KeyedRandomness(stream(asked.seed, Purpose.COUNT_NOISE, site=code))
        sites[name] = exact if payments is None else noise_for(plan).noised(exact, payments[name], drawn)
    study = counting_study(_STUDY, tuple(sites), entries=plan.entries, least=asked.least, seed=asked.seed)
    sums = summed(sites, study, "ckks")
    totals = sums.totals if payments is None else noise_for(plan).total(sums.totals, len(sites))
    found = table_one(totals, schema, asked.smallest, noised=payments is not None)
    noise = None if asked.budget is None else noise_of(asked.budget, schema)
    return Outcome(table=found, sites=tuple(sites), bytes_up=sums.bytes_up, noise=noise)


def noise_for(plan: CountPlan) -> CountNoise:
    return CountNoise(columns=len(plan.features), of_records=plan.of_records)


def noise_of(budget: Budget, schema: TableSchema) -> float:
    """Its standard deviation on each count."""
    return noise_for(by_class(schema)).deviation(multiplier_of(budget))


def _paid(budget: Budget, folder: Path | None, sites: Sequence[str]) -> dict[str, Paid]:
    """Every site's payment, on record in its ledger before anything is counted."""
    event = count_event(TABLE_ONE, multiplier_of(budget), _STUDY)
    return paid_by(sites, budget, event, folder)


def paid_by(sites: Sequence[str], budget: Budget, event: Event, folder: Path | None) -> dict[str, Paid]:
    """What each site's ledger holds now for one release."""
    store, payments = stores(folder), {}
    for site in sites:
        ledger = Ledger(site, budget, store(site))
        with closing(ledger):
            (payments[site],) = ledger.charge([event])
    return payments
