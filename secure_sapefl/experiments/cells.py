"""A cell is one run of one method; its result is a file named by everything the numbers depend on.

So an interrupted experiment goes on where it stopped, two experiments share what they have in common, and nothing
finished is computed again. The name covers the configuration where it departs from the defaults, so that a new setting
leaves old results their names, all options of the method, the rows of the data file and the package's version; after
changing code, start with an empty folder.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from secure_sapefl import __version__
from secure_sapefl.algorithms.own import configured
from secure_sapefl.config import Config
from secure_sapefl.data import DATASETS, Federation, Progress, no_progress
from secure_sapefl.data.public import completed
from secure_sapefl.engine import validation
from secure_sapefl.engine.assembly import Assembly, federation_of
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.datafiles import data_digest, own_sources
from secure_sapefl.experiments.output import save
from secure_sapefl.experiments.site_intervals import row_intervals
from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import NOBODY, Scores
from secure_sapefl.own_code import short
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.report.shown import ACCURACY, AUC, Shown

JudgedOn = Literal["test", "validation"]
_DIVIDED_BY: Final = {
    *("dataset", "clients", "partition", "kappa", "seed", "data_dir", "data_options", "label", "group", "rows"),
    *("clusters", "dp_public", "data_schema", "task", "preparation", "accept"),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A configuration, and the rows it is run and judged on."""

    config: Config
    data_digest: str | None = None  # of the data file and its ranges, where there are any
    division_seed: int | None = None  # divides the rows by this seed and not the run's, to train the same sites anew
    judged_on: JudgedOn = "test"
    every_round: bool = False  # evaluated after each, for curves; what stands after the last is the same

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything the result depends on; where the data lies is replaced by what it is."""
        options = configured(self.config.method, self.config.options)[1].model_dump(mode="json")
        said = self.config.model_dump(mode="json", exclude={"data_dir"}, exclude_defaults=True)
        return {
            "version": __version__,
            "config": said | {"options": options},
            "data": self.data_digest,
            "division_seed": self.division_seed,
            "judged_on": self.judged_on,
            **({"every_round": True} if self._looks else {}),
            **own_sources(self.config),
        }

    @property
    def run(self) -> Config:
        """Sites make and judge their models when somebody looks; who stops early has to, in each round."""
        return self.config.model_copy(update={"evaluate_every": 1 if self._looks else self.config.rounds})

    @property
    def _looks(self) -> bool:
        return self.every_round or self.config.early_stopping is not None

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:24]

    def __str__(self) -> str:
        """For people who wait for it."""
        config = self.config
        options = "".join(f":{key}={value}" for key, value in config.options.items())
        budget = "" if config.dp_epsilon is None else f", ε {config.dp_epsilon:g}"
        return f"{config.method}{options} on {config.dataset}, lr {config.lr:g}{budget}, seed {config.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """Per-site numbers of the round that is used (NaN where undefined), and the main one after each that was looked
    at."""

    main: tuple[float, ...]  # by the task's main metric: the accuracy of a classification
    second: tuple[float, ...]  # by the next one: its AUC
    trajectory: tuple[tuple[float, ...], ...]  # [look][site]
    client_names: tuple[str, ...]
    source: str
    partition: str
    seconds: float
    test_rows: tuple[int, ...] = ()  # of each site; cells of before 0.2.0 did not say
    shown: tuple[Shown, ...] = (ACCURACY, AUC)  # what the two are
    low: tuple[float, ...] = ()  # how sure ``main`` is at each site, where that does not follow from it
    high: tuple[float, ...] = ()

    @classmethod
    def from_result(
        cls, result: Result, test_rows: tuple[int, ...] = (), sure: Sequence[Interval] = ()
    ) -> "CellResult":
        return cls(
            main=result.main.per_client,
            second=next(iter(list(result.last.personal.metrics.values())[1:]), NOBODY).per_client,
            trajectory=tuple(
                tuple(round(a, 5) for a in r.personal.main.per_client) for r in result.rounds if r.spreads()
            ),
            client_names=tuple(result.facts["client_names"]),
            source=result.facts["source"],
            partition=result.facts["partition"],
            seconds=result.seconds()["total"],
            test_rows=test_rows,
            shown=tuple(Shown.from_metric(metric) for metric in result.metrics[:2]),
            low=tuple(one.low for one in sure),
            high=tuple(one.high for one in sure),
        )

    @classmethod
    def from_scores(
        cls, scores: Scores, assembly: Assembly, seconds: float, test_rows: tuple[int, ...]
    ) -> "CellResult":
        """Of models that were judged once, at the end."""
        facts, shown = assembly.facts(), assembly.blueprint.task.metrics[:2]
        return cls(
            main=scores.main.per_client,
            second=next(iter(list(scores.metrics.values())[1:]), NOBODY).per_client,
            trajectory=(tuple(round(a, 5) for a in scores.main.per_client),),
            client_names=tuple(facts["client_names"]),
            source=facts["source"],
            partition=facts["partition"],
            seconds=seconds,
            test_rows=test_rows,
            shown=tuple(Shown.from_metric(metric) for metric in shown),
        )

    def to_json(self) -> dict[str, Any]:
        undefined = {name: _with_nulls(getattr(self, name)) for name in ("main", "second", "low", "high")}
        return (
            {name: getattr(self, name) for name in self.__slots__} | undefined | {"shown": [*map(asdict, self.shown)]}
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CellResult":
        return cls(
            main=_without_nulls(values["main"]),
            second=_without_nulls(values["second"]),
            trajectory=tuple(tuple(line) for line in values["trajectory"]),
            client_names=tuple(values["client_names"]),
            source=values["source"],
            partition=values["partition"],
            seconds=values["seconds"],
            test_rows=tuple(values.get("test_rows", ())),
            shown=tuple(Shown(**one) for one in values["shown"]),
            low=_without_nulls(values.get("low", ())),
            high=_without_nulls(values.get("high", ())),
        )


def _with_nulls(values: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _without_nulls(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(float("nan") if value is None else value for value in values)


def run_cell(cell: Cell) -> CellResult:
    federation = unchanged_federation(cell)
    with without_warnings():
        result = simulate(cell.run, federation=federation)
    return CellResult.from_result(result, test_rows_of(federation), row_intervals(result, federation))


def unchanged_federation(cell: Cell) -> Federation:
    """The cell's sites, if its data is what it was when the experiment was begun."""
    federation = federation_for(cell)
    if data_digest(cell.config) != cell.data_digest:
        raise BadInput(
            f"The data of {cell.config.dataset} was changed while the experiment ran. Finished cells are of the data "
            "as it was; give the same command again for the data as it is."
        )
    return federation


@contextmanager
def without_warnings() -> Iterator[None]:
    """`setting.check` has warned, once for all cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def test_rows_of(federation: Federation) -> tuple[int, ...]:
    return tuple(len(client.test) for client in federation.clients)


def federation_for(cell: Cell, progress: Progress = no_progress) -> Federation:
    """``progress`` hears of a dataset that has to be fetched first."""
    seed = cell.config.seed if cell.division_seed is None else cell.division_seed
    federation = _divided(_Division.from_config(cell.config.model_copy(update={"seed": seed}), cell, progress))
    return federation if cell.judged_on == "test" else with_validation_rows(federation, seed)


def with_validation_rows(federation: Federation, seed: int) -> Federation:
    """For tuning: a fifth of every site's training rows, stratified by class, become what it is judged on; test rows
    are gone. In a private study sites declare the rows they have left."""
    held_back = validation.with_validation_rows(federation, seed, "Compare without --tune.")
    clients = tuple(
        replace(client, test=client.validation, validation=None)
        for client in held_back.clients
        if client.validation is not None
    )
    facts = federation.public
    left = None if facts is None else completed(facts.model_copy(update={"rows": {}, "persons": {}}), clients)
    return replace(held_back, clients=clients, public=left)


@dataclass(frozen=True, slots=True)
class _Division:
    """What the rows of sites depend on, in one name: neighbouring cells have the same, and read them once."""

    name: str
    config: Config = field(compare=False)
    progress: Progress = field(compare=False)

    @classmethod
    def from_config(cls, config: Config, cell: Cell, progress: Progress) -> "_Division":
        """Sites with tables of one's own may agree on a preparation, which every run does for itself."""
        fields = _DIVIDED_BY if config.dataset in DATASETS else None
        values = config.model_dump(mode="json", include=fields)
        said = json.dumps([values, config.dp_epsilon is None, cell.data_digest], sort_keys=True)
        return cls(said, config, progress)


@lru_cache(maxsize=2)  # with and without a budget
def _divided(division: _Division) -> Federation:
    return federation_of(division.config, division.progress)


class CellStore:
    """A folder of finished cells. Files appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        return self.folder / f"{short(cell.config.method)}-{Path(cell.config.dataset).stem}-{cell.digest}.json"

    def load(self, cell: Cell) -> CellResult | None:
        path = self.path(cell)
        if not path.exists():
            return None
        try:
            return CellResult.from_json(json.loads(path.read_text(encoding="utf-8"))["result"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"The finished cell {path} is damaged ({type(error).__name__}). Delete that file; it is computed again."
            ) from None

    def save(self, cell: Cell, result: CellResult) -> None:
        save(self.path(cell), json.dumps({"cell": cell.identity, "result": result.to_json()}).encode())
