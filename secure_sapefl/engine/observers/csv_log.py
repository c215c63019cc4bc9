"""A table that grows with the run: a line for every site of every round that was evaluated."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from secure_sapefl.engine.events import RoundClosed, RunBegun, RunEvent
from secure_sapefl.engine.observers.result_tables import site_rows
from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_whole, writing


class CsvLog:
    """``simulate(config, observers=[CsvLog("rounds.csv")])``; columns as `Result.to_pandas` has them.

    Lines are added as rounds end. A resumed run writes the rounds before it anew, so that none is missing or there
    twice; a run that begins replaces no file.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._sites: Sequence[SiteId] = ()
        self._empty = True  # a header is written with the first line, whose metrics it names

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunBegun(study=study, so_far=so_far):
                self._begin(study.sites, so_far.rounds)
            case RoundClosed(record=record):
                self._add([record])

    def _begin(self, sites: Sequence[SiteId], so_far: Sequence[RoundRecord]) -> None:
        if not so_far and self._path.exists() and self._path.stat().st_size:
            raise BadInput(f"{self._path} is there already, and is not replaced. Choose another path for the log.")
        self._sites, self._empty = sites, True
        with writing(self._path, "Choose another path for the log."):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, b"")
        self._add(so_far)

    def _add(self, records: Iterable[RoundRecord]) -> None:
        rows = [row for record in records for row in site_rows(record, self._sites)]
        if rows:
            with writing(self._path, "Free some space, then resume the run."), self._path.open("a") as file:
                file.write(_lines(rows, header=self._empty))
            self._empty = False


def _lines(rows: Sequence[Mapping[str, object]], *, header: bool) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
