"""A finished run as its folder tells it, checked once so that charts and page need not doubt it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.own import algorithm as find_algorithm
from secure_sapefl.config import Config, ProtectionName
from secure_sapefl.data.tables.table_one import TableOne
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.engine.run_folder import IDENTITY, identity_of, summary_of
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Floats
from secure_sapefl.plain_text import printable
from secure_sapefl.protocol.disclosure import Exposure
from secure_sapefl.report.audit_section import AuditSection, read_audit
from secure_sapefl.report.shown import Shown, shown_of
from secure_sapefl.storage import json_lines

_NEEDED = frozenset(
    {"method", "dataset", "source", "partition", "client_names", "rounds", "seed", "protection", "device", "versions"}
    | {"parameters", "bytes", "seconds", "privacy", "skipped_rounds", "refused", "similarity_matrix"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    label: str
    config: Config
    summary: Mapping[str, Any]
    rounds: tuple[RoundRecord, ...]
    audit: AuditSection | None = None
    identity: Identity | None = None  # None where its folder does not say
    table: Mapping[str, Any] | None = None  # a Table 1 of its sites, where `statistics --out` put one there

    @property
    def algorithm(self) -> Algorithm:
        return find_algorithm(self.summary["method"])

    @property
    def exposure(self) -> Exposure:
        config = self.config
        return Exposure(
            algorithm=self.algorithm,
            protection=self.summary["protection"],
            scores=config.scores,
            keys=config.keys,
            colluders=config.colluders,
            counts=config.agreed is not None,
        )

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(printable(name) for name in self.summary["client_names"])

    @property
    def evaluated(self) -> tuple[RoundRecord, ...]:
        """The rounds that ended with an evaluation: all of them, or every so many (`evaluate_every`)."""
        return tuple(record for record in self.rounds if record.personal.evaluated)

    @property
    def main(self) -> Shown:
        """What the run is judged by first."""
        return shown_of(self.summary)[0]

    @property
    def second(self) -> Shown | None:
        return next(iter(shown_of(self.summary)[1:]), None)

    @property
    def last(self) -> RoundRecord:
        """The round whose models are used: the last one, unless validation rows chose another."""
        used = self.summary.get("early_stopping", {}).get("used_round")
        return self.evaluated[-1] if used is None else self.rounds[used]

    @property
    def silent(self) -> bool:
        """Nothing left any site."""
        return self.algorithm.homomorphic is Homomorphic.SILENT

    @property
    def has_global_model(self) -> bool:
        """Sites sent updates, whose sum moved one."""
        return self.algorithm.homomorphic is Homomorphic.WEIGHTED_SUM

    @property
    def personal_differs(self) -> bool:
        """There is a global model, and sites use something else."""
        return self.has_global_model and self.main.own(self.last) != self.main.everywhere(self.last)

    @property
    def rows(self) -> tuple[int, ...] | None:
        """Training rows by site, where the summary says."""
        rows = self.summary.get("client_rows")
        return None if rows is None else tuple(int(count) for count in rows)

    @property
    def epsilons(self) -> tuple[float | None, ...]:
        """Privacy budget spent, by site; empty in a run without differential privacy."""
        return tuple((self.summary["privacy"] or {}).get("epsilon_per_client", ()))

    @property
    def similarity(self) -> Floats | None:
        """Sites × peers, NaN where two were not compared; None for a method that compares nobody."""
        matrix = self.summary["similarity_matrix"]
        return np.array(matrix, dtype=np.float64) if matrix else None


def load_run(folder: Path) -> Run:
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder. Give the folder of a finished run, as `simulate --out` makes it.")
    try:
        summary = summary_of(folder)
        run = Run(
            label=printable(folder.resolve().name),
            config=Config.load(folder / "config.toml"),
            summary=summary,
            rounds=tuple(map(RoundRecord.from_json, json_lines.read(folder / "rounds.jsonl"))),
            audit=read_audit(folder),
            table=read_table(folder),
            identity=identity_of(folder) if (folder / IDENTITY).is_file() else None,
        )
        _check(run)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{folder} is not a whole run ({_reason(error)}). Run it again with another --out.") from None
    return run


def read_table(folder: Path) -> dict[str, Any] | None:
    """`table-1.json` of the folder of a run, as a page shows it."""
    file = folder / "table-1.json"
    if not file.is_file():
        return None
    fields = json.loads(file.read_text(encoding="utf-8"))
    found, notes = TableOne.from_json(fields), " ".join(printable(str(note)) for note in fields.get("notes", ()))
    return {"groups": found.groups, "lines": found.shown(), "caption": notes}


def _check(run: Run) -> None:
    """What the summary, the rounds and the names say must fit together."""
    missing = sorted(_NEEDED - run.summary.keys())
    if missing:
        raise ValueError(f"summary.json lacks {', '.join(missing)}")
    sites = len(run.sites)
    if not run.rounds or len(run.rounds) != run.summary["rounds"]:
        raise ValueError(f"rounds.jsonl has {len(run.rounds)} rounds, summary.json {run.summary['rounds']}")
    spreads = [s for r in run.evaluated for s in (*r.personal.metrics.values(), run.main.everywhere(r))]
    if sites == 0 or not spreads or any(len(spread.per_client) != sites for spread in spreads):
        raise ValueError(f"a round does not have one number for each of the {sites} sites")
    if run.similarity is not None and run.similarity.shape != (sites, sites):
        raise ValueError(f"the similarity matrix is not {sites} × {sites}")
    if run.rows is not None and len(run.rows) != sites:
        raise ValueError(f"summary.json has the rows of {len(run.rows)} sites, there are {sites}")
    if run.epsilons and len(run.epsilons) != sites:
        raise ValueError(f"summary.json has the budgets of {len(run.epsilons)} sites, there are {sites}")
    if run.summary["protection"] not in get_args(ProtectionName):
        raise ValueError(f"protection {run.summary['protection']!r} is not known")
    find_algorithm(run.summary["method"])


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error.args[0]!r} where one belongs"
    return str(getattr(error, "strerror", None) or error)
