"""A cell is one run of one method; its result is a file named by everything the numbers depend on.

So an interrupted experiment goes on where it stopped, two experiments share what they have in common, and nothing
finished is computed again. The name covers the resolved configuration, the rows of the data file and the package's
version; after changing code, start with an empty folder.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from secure_sapefl import __version__
from secure_sapefl.algorithms.own import configured
from secure_sapefl.config import Config
from secure_sapefl.data import Federation, Progress, no_progress
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.datafiles import data_digest, own_sources
from secure_sapefl.experiments.output import save
from secure_sapefl.experiments.validation import with_validation_rows
from secure_sapefl.metrics import NOBODY
from secure_sapefl.own_code import short
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.report.shown import ACCURACY, AUC, Shown

JudgedOn = Literal["test", "validation"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A configuration, and the rows it is run and judged on."""

    config: Config
    data_digest: str | None = None  # of the data file and its ranges, where there are any
    division_seed: int | None = None  # divides the rows by this seed and not the run's, to train the same sites anew
    judged_on: JudgedOn = "test"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything the result depends on; where the data lies is replaced by what it is."""
        options = configured(self.config.method, self.config.options)[1].model_dump(mode="json")
        said = {name: getattr(self.config, name) for name in ("late_clients", "dp_public", "data_schema", "accept")}
        unsaid = {"data_dir", *(name for name, value in said.items() if not value)}
        config = self.config.model_dump(mode="json", exclude=unsaid) | {"options": options}
        return {
            "version": __version__,
            "config": config,
            "data": self.data_digest,
            "division_seed": self.division_seed,
            "judged_on": self.judged_on,
            **own_sources(self.config),
        }

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """Per-site numbers of the round that is used (NaN where undefined), and the main one after every round."""

    main: tuple[float, ...]  # by the task's main metric: the accuracy of a classification
    second: tuple[float, ...]  # by the next one: its AUC
    trajectory: tuple[tuple[float, ...], ...]  # [round][site]
    client_names: tuple[str, ...]
    source: str
    partition: str
    seconds: float
    test_rows: tuple[int, ...] = ()  # of each site; cells of before 0.2.0 did not say
    shown: tuple[Shown, ...] = (ACCURACY, AUC)  # what the two are

    @classmethod
    def from_result(cls, result: Result, test_rows: tuple[int, ...] = ()) -> "CellResult":
        return cls(
            main=result.main.per_client,
            second=next(iter(list(result.last.personal.metrics.values())[1:]), NOBODY).per_client,
            trajectory=tuple(tuple(round(a, 5) for a in r.personal.main.per_client) for r in result.rounds),
            client_names=tuple(result.facts["client_names"]),
            source=result.facts["source"],
            partition=result.facts["partition"],
            seconds=result.seconds()["total"],
            test_rows=test_rows,
            shown=tuple(Shown.from_metric(metric) for metric in result.metrics[:2]),
        )

    def to_json(self) -> dict[str, Any]:
        undefined = {"main": _with_nulls(self.main), "second": _with_nulls(self.second)}
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
        )


def _with_nulls(values: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _without_nulls(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(float("nan") if value is None else value for value in values)


def run_cell(cell: Cell) -> CellResult:
    federation = federation_for(cell)
    if data_digest(cell.config) != cell.data_digest:
        raise BadInput(
            f"The data of {cell.config.dataset} was changed while the experiment ran. Finished cells are of the data "
            "as it was; give the same command again for the data as it is."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # `setting.check` has warned, once for all cells
        test_rows = tuple(len(client.test) for client in federation.clients)
        return CellResult.from_result(simulate(cell.config, federation=federation), test_rows)


def federation_for(cell: Cell, progress: Progress = no_progress) -> Federation:
    """``progress`` hears of a dataset that has to be fetched first."""
    seed = cell.config.seed if cell.division_seed is None else cell.division_seed
    federation = federation_of(cell.config.model_copy(update={"seed": seed}), progress)
    return federation if cell.judged_on == "test" else with_validation_rows(federation, seed)


class CellStore:
    """A folder of finished cells. Files appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, cell: Cell) -> Path:
        return self._folder / f"{short(cell.config.method)}-{Path(cell.config.dataset).stem}-{cell.digest}.json"

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
